"""Runs -> pages in a folder: pretraining runs with their curves, runs of tasks as comparisons, tables of the paper."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from elmokit.report.reproduction_page import reproduction_page
from elmokit.report.run_history import read_history
from elmokit.report.tasks_page import tasks_page
from elmokit.report.training_curve import check_is_long_enough, training_curve
from elmokit.report.training_page import NO_PICTURE, training_page
from elmokit.reproduce.all_reproductions import find_reproduction
from elmokit.reproduce.comparisons import compare_runs
from elmokit.reproduce.reproduction import Request, paths_of
from elmokit.reproduce.task_runs import is_task_run
from elmokit.runs.logged_runs import LoggedRun, read_runs
from elmokit.system.files import atomic_write

CURVE_NAME = "training-curve.svg"
TRAINING_NAME = "training.md"
RESULTS_NAME = "results.md"


def write_report(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Write `training.md` and `training-curve.svg` for pretraining runs, `results.md` for runs of tasks.

    Returns the paths of the files that were written. `paths` are as in `read_runs`. Without matplotlib, the tables are
    still written, and a warning says how to get the curves. Raises FileNotFoundError and ValueError for runs that
    cannot be read or shown; then nothing is written.
    """
    runs = read_runs(paths)
    command = shlex.join(["elmokit", "report", *map(str, paths), "-o", str(folder)])
    of_tasks = [run for run in runs if is_task_run(run)]
    others = [run for run in runs if not is_task_run(run)]
    texts = _training_texts(others, command) if others else {}
    if of_tasks:
        texts[RESULTS_NAME] = tasks_page(compare_runs(of_tasks), command=command)
    return _write(texts, folder)


def write_reproduction(name: str, paths: Sequence[Path], folder: Path, *, request: Request) -> Path:
    """Write a table of a paper with our rows, `table1.md`; returns its path.

    paths: what it is made from; if there are none, `request` says what is computed first.
    Raises ValueError for an unknown name, and what the table's functions raise; then no page is written.
    """
    reproduction = find_reproduction(name)
    found = paths_of(reproduction, paths, request)
    command = shlex.join(["elmokit", "reproduce", name, *map(str, found), "-o", str(folder)])
    details = reproduction.details(found) if reproduction.details else ()
    page = reproduction_page(reproduction, reproduction.measure(found), details, command=command)
    return _write({f"{name}.md": page}, folder)[0]


def _training_texts(runs: Sequence[LoggedRun], command: str) -> dict[str, str]:
    histories = [read_history(run) for run in runs]
    if len({history.name for history in histories}) < len(histories):
        histories = [replace(history, name=run.where) for run, history in zip(runs, histories, strict=True)]
    for history in histories:
        check_is_long_enough(history)
    if find_spec("matplotlib") is None:
        warnings.warn(NO_PICTURE, stacklevel=3)
        return {TRAINING_NAME: training_page(histories, command=command, picture=None)}
    return {
        CURVE_NAME: training_curve(histories),
        TRAINING_NAME: training_page(histories, command=command, picture=CURVE_NAME),
    }


def _write(texts: Mapping[str, str], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with atomic_write(folder / name) as unfinished:
            unfinished.write_text(text, encoding="utf-8")
    return [folder / name for name in texts]
