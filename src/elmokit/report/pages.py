"""A user's runs -> pages in a folder: pretraining with its curves, and the scores of tasks."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from elmokit.files.atomic import atomic_write, temporary_folder
from elmokit.report.run_history import RunHistory, read_history
from elmokit.report.tasks_page import tasks_page
from elmokit.report.training_curve import training_curve
from elmokit.report.training_page import NO_PICTURE, training_page
from elmokit.runs.logged_runs import RUNS_NAME, LoggedRun, is_run_folder, read_runs
from elmokit.tasks.task_runs import TaskRun, is_task_run, read_task_run

CURVE_NAME = "training-curve.svg"
TRAINING_NAME = "training.md"
TASKS_NAME = "tasks.md"


def write_report(paths: Sequence[Path], folder: Path) -> tuple[list[Path], int]:
    """Write `training.md` and `training-curve.svg` of pretraining, and `tasks.md` of tasks.

    Returns the paths of the files that were written, and how many runs or files of runs were left out. `paths` are runs
    as in `read_runs`. Without matplotlib, the tables are still written, and a warning says how to get the picture.
    Runs that cannot be read or shown are left out, with a warning for each. If there are no others, what is wrong with
    the first is raised, FileNotFoundError or ValueError, and nothing is written. Raises the errors of `check_folder`.
    """
    check_folder(folder)
    command = shlex.join(["elmokit", "report", *map(str, paths), "-o", str(folder)])
    histories, tasks, num_left_out = _read(paths)
    files = _training_files(histories, command) if histories else {}
    if tasks:
        files[TASKS_NAME] = tasks_page(tasks, command=command).encode()
    return write_pages(files, folder), num_left_out


def _read(paths: Sequence[Path]) -> tuple[dict[str, RunHistory], list[TaskRun], int]:
    """The histories of pretraining, by where their runs are, the runs of tasks, and how many others are left out."""
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
    return histories, tasks, len(problems)


def _runs_of(path: Path, problems: list[ValueError | FileNotFoundError]) -> list[LoggedRun]:
    """The runs of a path; if one of a folder, or its runs.jsonl, cannot be read, that is noted, and the others stay."""
    try:
        return read_runs([path])
    except (ValueError, FileNotFoundError) as problem:
        is_run = not path.is_dir() or is_run_folder(path)
        parts = [] if is_run else [*path.glob(RUNS_NAME), *filter(is_run_folder, sorted(path.iterdir()))]
        if not parts:
            problems.append(problem)
        return [*{run.name: run for part in parts for run in _runs_of(part, problems)}.values()]


def check_folder(folder: Path) -> None:
    """Raise OSError, naming the folder, if no pages can be written into it, which is made if it does not exist."""
    target = folder.resolve()
    existing = next(path for path in (target, *target.parents) if path.exists())
    if not existing.is_dir():
        raise NotADirectoryError(f"{folder}: {existing} is not a folder; choose another output folder")
    with temporary_folder(existing / "page", named=folder):
        pass


def _training_files(by_place: Mapping[str, RunHistory], command: str) -> dict[str, bytes]:
    histories = list(by_place.values())
    if len({history.name for history in histories}) < len(histories):
        histories = [replace(history, name=where) for where, history in by_place.items()]
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
