"""The plan carried out: what is finished stays, what was interrupted is resumed, and what is missing is trained."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.logged_runs import read_runs
from elmokit.runs.metrics_log import append_json_line, read_log
from elmokit.runs.optimizer_state import DivergenceError
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import with_settings
from elmokit.tasks.task_runs import read_task_run
from elmokit.tasks.train import resume_task, train
from paper.all_reproductions import find_reproduction
from paper.bootstrap import measure_test_items
from paper.models import make_model
from paper.plan import cheapest_first
from paper.runs import check_settings, make_setup, read_evidence
from paper.table1 import tested

if TYPE_CHECKING:
    from elmokit.runs.logged_runs import LoggedRun
    from elmokit.tasks.config import TaskConfig
    from paper.plan import PlannedRun, Setup

MODELS_FOLDER = "models"


@dataclass(frozen=True)
class Training:
    """How the runs that tables need are trained."""

    data_dir: Path
    """The folder with the data, as CONTRIBUTING.md describes it."""
    runs_dir: Path
    """The folder of the runs: finished ones are not run again, interrupted ones are resumed."""
    scale: str = "cpu"
    model: str | None = None
    """The biLM; None for that of each table."""
    seeds: int | None = None
    """Number of seeds, from 0; None stands for the number of the scale."""
    jobs: int = 1
    """Processes that train at the same time."""
    cache: Path | None = None
    """Folder of the activations of frozen biLMs, as for `train`."""
    device: str | None = None
    tasks: tuple[str, ...] = ()
    """The tasks that are trained, by any of their names; empty for all that the tables need."""
    finished: tuple[Path, ...] = ()
    """Logs of runs that were trained elsewhere, such as a runs.jsonl: these runs are skipped."""

    def __post_init__(self) -> None:
        for name, number in (("jobs", self.jobs), ("seeds", 1 if self.seeds is None else self.seeds)):
            if number < 1:
                raise ValueError(f"{number} {name}; expected at least 1")
        object.__setattr__(self, "tasks", tuple(find_task(task).name for task in self.tasks))

    def setup(self, name: str) -> Setup:
        """The setup of the plan of a table. Raises what `make_setup` raises."""
        model = self.model or find_reproduction(name).model
        return make_setup(self.data_dir, scale=self.scale, model=model, seeds=self.seeds)


def plan_runs(names: Sequence[str], training: Training) -> list[PlannedRun]:
    """The runs that these tables and figures need, each once, the cheapest first.

    Runs with another system's vectors are not trained here. Raises ValueError for an unknown name, and for a task of
    which they need no runs, and FileNotFoundError for a model that is not there.
    """
    plans = [(name, reproduction.plan) for name, reproduction in zip(names, map(find_reproduction, names), strict=True)]
    planned = [run for name, plan in plans if plan is not None for run in plan(training.setup(name))]
    runs = cheapest_first(run for run in planned if run.model is None or run.model.is_made_here)
    needed = dict.fromkeys(run.task for run in runs)
    unneeded = [task for task in training.tasks if task not in needed]
    if needed and unneeded:
        raise ValueError(
            f"no run of {', '.join(unneeded)} is needed for {', '.join(names)}; the runs are of {', '.join(needed)}"
        )
    return [run for run in runs if run.task in training.tasks] if training.tasks else runs


def missing_runs(runs: Sequence[PlannedRun], training: Training) -> list[PlannedRun]:
    """Those that are finished neither here nor elsewhere. Raises ValueError for runs of other settings."""
    here = [training.runs_dir / run.name for run in runs if (training.runs_dir / run.name / CONFIG_NAME).is_file()]
    logged = read_runs([*training.finished, *here])
    return [run for run in runs if not any(_is_result_of(one, run) for one in logged if one.name == run.name)]


def train_for(names: Sequence[str], training: Training) -> list[Path]:
    """Train what these tables and figures need, and return what to measure them from: folders, and logs of elsewhere.

    Intervals over test items and ensembles need weights, so they are measured of what was trained here. A run that
    diverges is reported on stderr and left out, now and later: its log says so. Raises ValueError for a run of other
    settings, and what making a model and training raise.
    """
    missing = missing_runs(plan_runs(names, training), training)
    train_planned(missing, training.runs_dir, jobs=training.jobs, cache=training.cache, device=training.device)
    paths = [*([training.runs_dir] if training.runs_dir.is_dir() else []), *training.finished]
    if missing and "table1" in names:
        measure_test_items(tested(read_evidence(training.setup("table1"), paths)), training.runs_dir)
    return paths


def train_planned(
    runs: Iterable[PlannedRun], folder: Path, *, jobs: int = 1, cache: Path | None = None, device: str | None = None
) -> None:
    """Train runs in their order, or go on with those that were interrupted.

    jobs: number of processes that train at the same time; with more than one, the order of their ends varies.
    """
    one = partial(_train_one, folder=folder, cache=cache, device=device)
    if jobs == 1:
        for run in runs:
            one(run)
        return
    runs = list(runs)
    for model in dict.fromkeys(run.model for run in runs if run.model is not None):
        make_model(model, folder / MODELS_FOLDER)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        list(processes.map(one, runs))


def _is_result_of(logged: LoggedRun, run: PlannedRun) -> bool:
    """Whether a logged run has the result of a planned one, or has diverged. Raises ValueError for other settings."""
    found = read_task_run(logged)
    check_settings(found, run)
    return found.diverged or (found.result is not None and (bool(found.result.test) or not run.scores_tests))


def _train_one(run: PlannedRun, *, folder: Path, cache: Path | None, device: str | None) -> None:
    run_dir = folder / run.name
    print(run.name, file=sys.stderr, flush=True)
    try:
        if (run_dir / CONFIG_NAME).is_file():
            resume_task(run_dir, test=run.scores_tests, cache=cache, device=device)
        else:
            config = _config(run, folder)
            train(run.task, run.data, run_dir=run_dir, config=config, test=run.scores_tests, cache=cache, device=device)
    except DivergenceError as error:
        print(f"{run.name} has diverged: {error}", file=sys.stderr, flush=True)
        log = run_dir / METRICS_NAME
        num_epochs = len(read_log(log).records) if log.exists() else 0
        append_json_line(log, {"epoch": num_epochs + 1, "diverged": str(error)})


def _config(run: PlannedRun, folder: Path) -> TaskConfig:
    """The run's config with the folder of its biLM, which is made if it is not there."""
    if run.model is None:
        return run.config
    return with_settings(run.config, [f"elmo.model={make_model(run.model, folder / MODELS_FOLDER)}"])
