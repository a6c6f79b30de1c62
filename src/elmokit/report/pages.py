"""A user's runs -> pages in a folder: pretraining with its curves, and the scores of tasks."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from elmokit.files.atomic import atomic_write, temporary_folder
from elmokit.report.run_history import read_history
from elmokit.report.tasks_page import tasks_page
from elmokit.report.training_curve import check_is_long_enough, training_curve
from elmokit.report.training_page import NO_PICTURE, training_page
from elmokit.runs.logged_runs import RUNS_NAME, LoggedRun, is_run_folder, read_runs
from elmokit.tasks.task_runs import is_task_run, read_task_run

CURVE_NAME = "training-curve.svg"
TRAINING_NAME = "training.md"
TASKS_NAME = "tasks.md"


def write_report(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Write `training.md` and `training-curve.svg` of pretraining, and `tasks.md` of tasks.

    Returns the paths of the files that were written. `paths` are runs as in `read_runs`. Without matplotlib, the tables
    are still written, and a warning says how to get the picture.
    Runs that cannot be read or shown are left out, with a warning for each. If there are no others, what is wrong with
    the first is raised, FileNotFoundError or ValueError, and nothing is written. Raises the errors of `check_folder`.
    """
    check_folder(folder)
    command = shlex.join(["elmokit", "report", *map(str, paths), "-o", str(folder)])
    paths, left_out = shown_runs(paths)
    for reason in left_out:
        warnings.warn(reason, stacklevel=2)
    runs = read_runs(paths)
    others = [run for run in runs if not is_task_run(run)]
    files = _training_files(others, command) if others else {}
    if tasks := [read_task_run(run) for run in runs if is_task_run(run)]:
        files[TASKS_NAME] = tasks_page(tasks, command=command).encode()
    return write_pages(files, folder)


def shown_runs(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The paths that can be shown, and a sentence about each of the others.

    A folder of runs of which some cannot be shown becomes the others. Raises the error of the first path if nothing is
    left.
    """
    shown: list[Path] = []
    problems: list[ValueError | FileNotFoundError] = []
    for path in paths:
        parts = [path]
        if _problem(path) is not None and path.is_dir() and not is_run_folder(path):
            runs = [child for child in sorted(path.iterdir()) if child.name == RUNS_NAME or is_run_folder(child)]
            parts = runs or [path]  # notes and figures are not looked into
        for part in parts:
            problem = _problem(part)
            if problem is None:
                shown.append(part)
            else:
                problems.append(problem)
    if problems and not shown:
        raise problems[0]
    return shown, [f"left out: {problem}" for problem in problems]


def _problem(path: Path) -> ValueError | FileNotFoundError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the report itself warns of incomplete lines
            for run in read_runs([path]):
                if is_task_run(run):
                    read_task_run(run)
                else:
                    check_is_long_enough(read_history(run))
    except (ValueError, FileNotFoundError) as problem:
        return problem
    return None


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
    picture = None if find_spec("matplotlib") is None else CURVE_NAME
    if picture is None:
        warnings.warn(NO_PICTURE, stacklevel=3)
    page = {TRAINING_NAME: training_page(histories, command=command, picture=picture).encode()}
    return page if picture is None else {picture: training_curve(histories).encode(), **page}


def write_pages(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the contents of files by name, which may have folders in it; returns their paths."""
    for name, contents in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / name) as unfinished:
            unfinished.write_bytes(contents)
    return [folder / name for name in files]
