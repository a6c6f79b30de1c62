"""The runs that a report can show, and why it cannot show the others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from elmokit.report.run_history import read_history
from elmokit.report.training_curve import check_is_long_enough
from elmokit.runs.logged_runs import RUNS_NAME, has_runs, is_run_folder, read_runs
from elmokit.tasks.task_runs import is_task_run, read_task_run


def shown_runs(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """The paths that can be shown, and a sentence about each of the others.

    A folder of runs of which some cannot be shown becomes the others. Raises the error of the first path if nothing is
    left.
    """
    shown: list[Path] = []
    problems: list[ValueError | FileNotFoundError] = []
    for path in paths:
        parts = [path]
        if _problem(path) is not None and path.is_dir() and not is_run_folder(path) and has_runs(path):
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
