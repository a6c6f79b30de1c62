"""Runs and results -> pages in a folder: pretraining with its curves, the page of results, single tables."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from elmokit.files.atomic import atomic_write, temporary_folder
from elmokit.report.reproduction_page import reproduction_page
from elmokit.report.results_report import results_files
from elmokit.report.run_history import read_history
from elmokit.report.shown_runs import shown_runs
from elmokit.report.training_curve import training_curve
from elmokit.report.training_page import NO_PICTURE, training_page
from elmokit.reproduce.all_reproductions import find_reproduction
from elmokit.reproduce.reproduction import Request, paths_of
from elmokit.reproduce.results import result_files
from elmokit.reproduce.task_runs import is_task_run
from elmokit.runs.logged_runs import LoggedRun, has_runs, read_runs

CURVE_NAME = "training-curve.svg"
TRAINING_NAME = "training.md"


def write_report(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Write `training.md` and `training-curve.svg` of pretraining, `results.md` and figures of tasks and results.

    Returns the paths of the files that were written. `paths` are runs as in `read_runs`, and `results.jsonl` files or
    folders of them. Without matplotlib, the tables are still written, and a warning says how to get the pictures.
    Runs that cannot be read or shown are left out, with a warning for each. If there are no others, what is wrong with
    the first is raised, FileNotFoundError or ValueError, and nothing is written. Raises the errors of `check_folder`.
    """
    check_folder(folder)
    command = shlex.join(["elmokit", "report", *map(str, paths), "-o", str(folder)])
    paths, left_out = shown_runs(paths)
    for reason in left_out:
        warnings.warn(reason, stacklevel=2)
    with_results = [path for path in paths if result_files(path)]
    runs = read_runs([path for path in paths if has_runs(path) or path not in with_results])
    others = [run for run in runs if not is_task_run(run)]
    files = _training_files(others, command) if others else {}
    if with_results or len(others) < len(runs):
        files |= results_files(paths, command=command)
    return _write(files, folder)


def write_reproduction(name: str, paths: Sequence[Path], folder: Path, *, request: Request) -> Path:
    """Write a table of a paper with our rows, `table1.md`; returns its path.

    paths: what it is made from; if there are none, `request` says what is computed first.
    Raises ValueError for an unknown name, the errors of `check_folder`, and what the table's functions raise; then no
    page is written.
    """
    reproduction = find_reproduction(name)
    check_folder(folder)
    found = paths_of(reproduction, paths, request)
    command = shlex.join(["elmokit", "reproduce", name, *map(str, found), "-o", str(folder)])
    rows, details = reproduction.measure(found), reproduction.details(found) if reproduction.details else ()
    if not rows and not any(table.rows for table in details):
        raise ValueError(f"{name}: {', '.join(map(str, found))} have no {reproduction.reads}")
    page = reproduction_page(reproduction, rows, details, command=command)
    return _write({f"{name}.md": page.encode()}, folder)[0]


def check_folder(folder: Path) -> None:
    """Raise OSError, naming the folder, if no pages can be written into it, which is made if it does not exist."""
    target = folder.resolve()
    existing = next(path for path in (target, *target.parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"{folder}: {existing} is not a folder; choose another output folder")
    with temporary_folder(existing / "page", named=folder):
        pass


def _training_files(runs: Sequence[LoggedRun], command: str) -> dict[str, bytes]:
    histories = [read_history(run) for run in runs]
    if len({history.name for history in histories}) < len(histories):
        histories = [replace(history, name=run.where) for run, history in zip(runs, histories, strict=True)]
    if find_spec("matplotlib") is None:
        warnings.warn(NO_PICTURE, stacklevel=3)
        return {TRAINING_NAME: training_page(histories, command=command, picture=None).encode()}
    return {
        CURVE_NAME: training_curve(histories).encode(),
        TRAINING_NAME: training_page(histories, command=command, picture=CURVE_NAME).encode(),
    }


def _write(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents in files.items():
        with atomic_write(folder / name) as unfinished:
            unfinished.write_bytes(contents)
    return [folder / name for name in files]
