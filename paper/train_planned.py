"""Planned runs -> run folders: what is finished stays, what was interrupted is resumed, what is missing is trained."""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.logged_runs import read_runs
from elmokit.runs.metrics_log import append_json_line, read_log
from elmokit.runs.optimizer_state import DivergenceError
from elmokit.tasks.task_runs import read_task_run
from elmokit.tasks.train import resume_task, train
from paper.made_models import make_model
from paper.planned_runs import flat_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.runs.logged_runs import LoggedRun
    from paper.planned_runs import PlannedRun

MODELS_FOLDER = "models"
_RESOLVED = ("inputs.word_dim", "inputs.word_vectors", "inputs.elmo.model")
"""Settings that a run records in another form than it was given."""


def train_planned(
    runs: Sequence[PlannedRun], folder: Path, *, jobs: int = 1, cache: Path | None = None, device: str | None = None
) -> list[Path]:
    """Train the runs that are not finished, in their order, and return the folders of those that have a result.

    jobs: number of processes that train at the same time; with more than one, the order of their ends varies.
    cache: folder of the activations of frozen biLMs, as for `train`.
    A run that diverges is reported on stderr and left out, now and later: its log says so. Raises ValueError for a
    folder with a run of other settings, and what making a model and training raise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    one = partial(_train_one, folder=folder, cache=cache, device=device)
    if jobs == 1:
        done = [one(run) for run in runs]
    else:
        for model in dict.fromkeys(run.model for run in runs if run.model is not None):
            make_model(model, folder / MODELS_FOLDER)
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
            done = list(processes.map(one, runs))
    return [path for path in done if path is not None]


def is_finished(run: PlannedRun, folder: Path) -> bool:
    """Whether the run's folder has its result, or has diverged. Raises ValueError for a run of other settings there."""
    run_dir = folder / run.name
    if not (run_dir / CONFIG_NAME).is_file():
        return False
    (logged,) = read_runs([run_dir])
    return _has_result_of(logged, run)


def not_finished_elsewhere(runs: Sequence[PlannedRun], logs: Sequence[Path]) -> list[PlannedRun]:
    """The runs without those whose results are in logs of runs that were trained elsewhere, under the same names.

    Raises FileNotFoundError for a path without runs, and ValueError for a run of other settings.
    """
    logged = {run.name: run for run in read_runs(logs)}
    return [run for run in runs if run.name not in logged or not _has_result_of(logged[run.name], run)]


def _has_result_of(logged: LoggedRun, run: PlannedRun) -> bool:
    """Whether a logged run has the result of a planned one, or has diverged. Raises ValueError for other settings."""
    found = read_task_run(logged)
    before, now = flat_settings(found.record.config), flat_settings(run.config)
    if names := [name for name in now if name not in _RESOLVED and before.get(name) != now[name]]:
        raise ValueError(
            f"{logged.where} holds a run with other settings ({', '.join(names)}); move it away, or give another folder"
        )
    return found.diverged or (found.result is not None and (bool(found.result.test) or not run.scores_tests))


def _train_one(run: PlannedRun, *, folder: Path, cache: Path | None, device: str | None) -> Path | None:
    run_dir = folder / run.name
    if is_finished(run, folder):
        return None if _has_diverged(run_dir) else run_dir
    print(run.name, file=sys.stderr, flush=True)
    try:
        if (run_dir / CONFIG_NAME).is_file():
            return resume_task(run_dir, test=run.scores_tests, cache=cache, device=device)
        config = run.config
        if run.model is not None:
            config = run.model.used_in(config, make_model(run.model, folder / MODELS_FOLDER))
        return train(
            run.task, run.data, run_dir=run_dir, config=config, test=run.scores_tests, cache=cache, device=device
        )
    except DivergenceError as error:
        print(f"{run.name} has diverged: {error}", file=sys.stderr, flush=True)
        log = run_dir / METRICS_NAME
        num_epochs = len(read_log(log).records) if log.exists() else 0
        append_json_line(log, {"epoch": num_epochs + 1, "diverged": str(error)})
        return None


def _has_diverged(run_dir: Path) -> bool:
    (logged,) = read_runs([run_dir])
    return read_task_run(logged).diverged
