"""Runs of tasks and results -> `results.md` and its figures: what can be shown is shown, and the rest is named."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.elmo.elmo import Elmo
from elmokit.formats.model_name import FINGERPRINT_DIGITS
from elmokit.formats.names import DEFAULT_MODEL, bundled_models
from elmokit.report.pictures import pictures
from elmokit.runs.logged_runs import has_runs, read_runs
from elmokit.system.markdown import escape_markdown
from elmokit.tasks.task_runs import is_task_run, read_task_run
from paper import table1
from paper.all_reproductions import REPRODUCTIONS, find_reproduction
from paper.claims import Evidence, verdicts
from paper.comparisons import comparisons_among
from paper.families import is_usual, read_task_runs
from paper.figure1 import sample_curves
from paper.figure2 import learnt_weights
from paper.learning_curves import learning_curves
from paper.planned_runs import Setup
from paper.report.figures import curves_figure, sample_figure, weights_figure
from paper.report.origins_section import origins_section
from paper.report.reproduction_page import reproduction_parts
from paper.report.results_page import Section, results_page
from paper.report.runs_section import runs_section
from paper.report.tasks_page import tasks_section
from paper.reproduction import Reproduction
from paper.results import read_results, result_files
from paper.scales import SCALES
from paper.squad_articles import NAME as SQUAD_ARTICLES
from paper.system_results import NO_SYSTEM
from paper.systems import as_given, reads_word_vectors
from paper.task_gains import task_gains
from paper.train_command import train_command

if TYPE_CHECKING:
    from elmokit.tasks.task_runs import TaskRun

PAGE_NAME = "results.md"
NO_FIGURES = "The figures need matplotlib: `pip install 'elmokit[plots]'`."
FIGURES: Mapping[str, tuple[Callable[[Sequence[Path]], Sequence[Any]], Callable[[Any], Any], str]] = {
    "table1": (
        learning_curves,
        curves_figure,
        "Development scores of the largest runs by updates, on the part of the set that is scored after each epoch",
    ),
    "figure1": (sample_curves, sample_figure, "Development scores by the number of training examples"),
    "figure2": (learnt_weights, weights_figure, "Weights of the layers in the mixes that tasks have learnt"),
}
"""What a figure shows, how it is drawn, and its description."""
_ANY_MODEL = "<fingerprint>"
"""Stands in names of planned runs for the model's fingerprint, on which nothing else in a plan depends."""


def results_files(paths: Sequence[Path], *, command: str) -> dict[str, bytes]:
    """The page and its pictures by the names of their files; `command` is the command that writes them.

    paths: runs, and `results.jsonl` files or folders of them. Without matplotlib there are no pictures, and a warning.
    Raises ValueError, naming the file, for what cannot be read.
    """
    with_runs = [path for path in paths if has_runs(path)]
    sections: list[Section] = []
    left_out: list[str] = []
    files: dict[str, bytes] = {}
    for name in REPRODUCTIONS:
        reproduction = find_reproduction(name)
        own = _results_of(name, paths)
        if reproduction.plan is not None:
            own = list(dict.fromkeys([*with_runs, *own]))
        drawn = _pictures(name, own) if own else {}
        section = _section(reproduction, own, picture=f"{name}.svg" if drawn else None) if own else None
        files |= drawn
        if section is None:
            left_out.append(f"{escape_markdown(reproduction.paper.name)} ({name}): no {reproduction.reads}")
        else:
            sections.append(section)
    gains = list(task_gains(with_runs, paths).values())
    claims = verdicts(Evidence(runs=with_runs, results=paths))
    if (tasks := _tasks(with_runs)) is not None:
        sections.append(tasks)
    if records := {name: found for name in (*REPRODUCTIONS, SQUAD_ARTICLES) if (found := read_results(paths, name))}:
        sections.append(Section(origins_section(records), ()))
    page = results_page(gains, claims, sections, left_out, models=_bundled_fingerprints(), command=command)
    return {PAGE_NAME: page.encode(), **files}


@cache
def _bundled_fingerprints() -> Mapping[str, str]:
    return {name: Elmo.from_pretrained(name).fingerprint()[:FINGERPRINT_DIGITS] for name in bundled_models()}


def _results_of(name: str, paths: Sequence[Path]) -> list[Path]:
    """The files with records of a reproduction."""
    return [file for path in paths for file in result_files(path) if read_results([file], name)]


def _section(reproduction: Reproduction, paths: Sequence[Path], *, picture: str | None) -> Section | None:
    """None if nothing of it was measured."""
    rows = reproduction.measure(paths)
    details = reproduction.details(paths) if reproduction.details else ()
    if not rows and not any(table.rows for table in details):
        return None
    heading, *others = reproduction_parts(reproduction, rows, details, level=2)
    if picture is not None:
        others.insert(1, f"![{FIGURES[reproduction.name][2]}]({picture})")
    measured = {row.row for row in rows if any(cell is not None for cell in row.cells)}
    missing = [name for name in reproduction.paper.rows if name not in measured]
    if reproduction.plan is not None and missing:
        others.append(f"Not measured: {escape_markdown(', '.join(missing))}.")
    return Section("\n\n".join([heading, *others]), _commands(reproduction, paths))


def _commands(reproduction: Reproduction, paths: Sequence[Path]) -> tuple[str, ...]:
    """The commands that measure a table again: with the systems that have results, or each scale that has runs.

    A scale has runs if there is one that table 1 does not have, or all those of a task.
    """
    command = f"python -m paper {reproduction.name}"
    if reproduction.plan is None:
        return _commands_with_systems(command, reproduction, paths)
    runs = read_task_runs(paths)
    names = {run.name for run in runs}
    models = {run.record.fingerprint[:FINGERPRINT_DIGITS] for run in runs if run.record.fingerprint}
    planned_with = [model for model in models if any(f"-{model}-" in name for name in names)]
    scales: dict[str, None] = {}
    for scale, model in product(SCALES, planned_with):
        planned = _planned(reproduction.name, scale, model)
        shared = _planned(table1.NAME, scale, model)  # the usual runs, which other tables have too
        missing = {planned[name] for name in planned.keys() - names}
        if (planned.keys() - shared.keys() or planned.keys()) & names or set(planned.values()) - missing:
            scales[scale] = None
    return tuple(f"{command} --scale {scale}" for scale in scales or ["cpu"])


def _commands_with_systems(command: str, reproduction: Reproduction, paths: Sequence[Path]) -> tuple[str, ...]:
    """A command for each language with the systems that have results in it; without systems the command alone."""
    language_of = reproduction.language_of
    systems: dict[str, dict[str, None]] = {}
    for record in read_results(paths, reproduction.name):
        if "system" in record and (system := record.text("system")) != NO_SYSTEM:
            choice = f" --language {language_of(record.text('data'))}" if language_of else ""
            systems.setdefault(command + choice, {})[system] = None
    commands: list[str] = []
    for begin, named in systems.items():
        words = ["--word-vectors FILE"] if any(map(reads_word_vectors, named)) else []
        commands.append(" ".join([begin, *(f"--model {as_given(system)}" for system in named), *words]))
    return tuple(commands) or (command,)


def _planned(table: str, scale: str, model: str) -> Mapping[str, str]:
    """The task of each run, by name, that a table needs for one seed."""
    return {name.replace(_ANY_MODEL, model): task for name, task in _planned_for_any_model(table, scale)}


@cache
def _planned_for_any_model(table: str, scale: str) -> Sequence[tuple[str, str]]:
    plan = find_reproduction(table).plan
    assert plan is not None
    setup = Setup(SCALES[scale], Path(), DEFAULT_MODEL, _ANY_MODEL, (0,))
    return [(run.name, run.task) for run in plan(setup)]


def _pictures(name: str, paths: Sequence[Path]) -> dict[str, bytes]:
    """The pictures of a figure by file name; empty for a table, and for a figure of which nothing was measured."""
    if name not in FIGURES:
        return {}
    measure, draw, _ = FIGURES[name]
    shown = measure(paths)
    if not shown:
        return {}
    if find_spec("matplotlib") is None:
        warnings.warn(NO_FIGURES, stacklevel=4)
        return {}
    return {f"{name}.{ending}": contents for ending, contents in pictures(lambda: draw(shown)).items()}


def _tasks(paths: Sequence[Path]) -> Section | None:
    """The comparisons of tasks: of runs with the recipe's settings of ELMo, and of all that have test scores.

    Those without test scores are left out where others of the task have some. If there is nothing to compare, the runs
    by themselves; None without runs.
    """
    logged = [run for run in (read_runs(paths) if paths else []) if is_task_run(run)]
    runs = [(run, read_task_run(run)) for run in logged]
    results = comparisons_among(
        [run for run, read in runs if is_usual(read) or (read.result is not None and read.result.test)]
    )
    if not results.comparisons:
        return Section(runs_section([read for _, read in runs], results.notes), ()) if runs else None
    tested = {one.task for one in results.comparisons if one.is_tested}
    shown = [one for one in results.comparisons if one.is_tested or one.task not in tested]
    commands = _commands(find_reproduction(table1.NAME), paths)
    ended = [read for _, read in runs if read.result is not None]
    return Section(tasks_section(replace(results, comparisons=shown)), (*commands, *_unplanned(ended)))


def _unplanned(runs: Sequence[TaskRun]) -> list[str]:
    """The commands that train again the runs which no table plans at any scale, one for each arm."""
    models = {run.record.fingerprint[:FINGERPRINT_DIGITS] for run in runs if run.record.fingerprint}
    tables = [name for name in REPRODUCTIONS if find_reproduction(name).plan is not None]
    planned = {run for key in product(tables, SCALES, models) for run in _planned(*key)}
    others = [run for run in runs if f"{run.name.removesuffix(f'-{run.seed}')}-0" not in planned]
    return list(dict.fromkeys(map(train_command, others)))
