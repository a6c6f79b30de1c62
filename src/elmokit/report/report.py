"""A user's runs -> a folder of pages: training curves of pretraining, and scores of tasks."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from elmokit.report.output import check_folder, write_pages
from elmokit.report.tasks import (
    RESULTS_NAME,
    SHARES_NAME,
    TaskRun,
    is_task_run,
    read_task_run,
    results,
    shares_picture,
    tasks_page,
)
from elmokit.report.training import CURVE_NAME, RunHistory, read_history, training_curve, training_page
from elmokit.runs.log import RUNS_NAME, LoggedRun, is_run_folder, read_runs
from elmokit.runs.results_table import write_results


def write_report(paths: Sequence[Path], folder: Path) -> tuple[list[Path], int]:
    """Write a report into a folder. Returns the files that were written, and how many runs were left out.

    Pretraining gives `training.md` and `training-curve.svg`; tasks give `tasks.md`, `results.tsv` and, if ELMo's layers
    were mixed, `layer-shares.svg`. Without matplotlib, pictures are left out with a warning that says how to get them.

    paths: runs, as in `read_runs`. Runs that cannot be read or shown are left out, with a warning for each. If
    none is left, the first problem is raised (FileNotFoundError or ValueError) and nothing is written. Raises the
    errors of `check_folder`.
    """
    check_folder(folder)
    command = shlex.join(["elmokit", "report", *map(str, paths), "-o", str(folder)])
    histories, tasks, num_left_out = _read(paths)
    can_draw = find_spec("matplotlib") is not None
    files: dict[str, bytes] = {}
    if histories:
        files |= {CURVE_NAME: training_curve(histories)} if can_draw else {}
        files["training.md"] = training_page(histories, command=command, has_picture=can_draw).encode()
    if tasks:
        shares = shares_picture(tasks) if can_draw else None
        files |= {SHARES_NAME: shares} if shares else {}
        files["tasks.md"] = tasks_page(tasks, command=command, has_picture=shares is not None).encode()
    if not can_draw:
        warnings.warn("pictures need matplotlib: pip install 'elmokit[plots]'", stacklevel=2)
    written = write_pages(files, folder)
    if rows := results(tasks):
        write_results(folder / RESULTS_NAME, rows)
        written.append(folder / RESULTS_NAME)
    return written, num_left_out


def _read(paths: Sequence[Path]) -> tuple[list[RunHistory], list[TaskRun], int]:
    """The histories of pretraining, the runs of tasks, and how many runs are left out."""
    histories: dict[str, RunHistory] = {}
    tasks: list[TaskRun] = []
    problems: list[ValueError | FileNotFoundError] = []
    for run in [run for path in paths for run in _runs_of(path, problems)]:
        try:
            if is_task_run(run):
                tasks.append(read_task_run(run))
            else:
                histories[run.where] = read_history(run)
        except ValueError as problem:
            problems.append(problem)
    if problems and not (histories or tasks):
        raise problems[0]
    for problem in problems:
        warnings.warn(f"left out: {problem}", stacklevel=3)
    return _distinct(list(histories.values())), tasks, len(problems)


def _distinct(histories: list[RunHistory]) -> list[RunHistory]:
    """The histories. If two have the same name, each gets the place of its run as name."""
    if len({history.name for history in histories}) == len(histories):
        return histories
    return [replace(history, name=history.where) for history in histories]


def _runs_of(path: Path, problems: list[ValueError | FileNotFoundError]) -> list[LoggedRun]:
    """The runs of a path. If a run in a folder, or its runs.jsonl, cannot be read, add the problem to `problems`."""
    try:
        return read_runs([path])
    except (ValueError, FileNotFoundError) as problem:
        is_run = not path.is_dir() or is_run_folder(path)
        parts = [] if is_run else [*path.glob(RUNS_NAME), *filter(is_run_folder, sorted(path.iterdir()))]
        if not parts:
            problems.append(problem)
        return [*{run.name: run for part in parts for run in _runs_of(part, problems)}.values()]
