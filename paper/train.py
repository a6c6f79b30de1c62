"""The plan carried out: what is finished stays, what was interrupted is resumed, and what is missing is trained."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from elmokit.files.locks import InUseError
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.logged_runs import LoggedRun, read_runs
from elmokit.runs.metrics_log import append_json_line, read_log
from elmokit.runs.tensor_files import DivergenceError
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import TaskConfig, with_settings
from elmokit.tasks.reading import read_data
from elmokit.tasks.run_folder import check_is_unchanged, moved
from elmokit.tasks.task_runs import TaskRun, read_task_run
from elmokit.tasks.train import resume_task, train
from paper.bootstrap import measure_test_items
from paper.data_folders import WHERE_DATA_ARE
from paper.models import HELD_OUT, MODELS_FOLDER, make_model, weights_of
from paper.plan import EARLIER, PlannedRun, Setup, distinct_runs
from paper.reproduction import Reproduction
from paper.runs import check_settings, read_evidence
from paper.table1 import tested


@dataclass(frozen=True)
class Training:
    """How the runs that tables need are trained."""

    plans: Sequence[tuple[Reproduction, Setup]]
    """The tables, each with what its runs share."""
    runs_dir: Path
    """The folder of the runs: finished ones are not run again, interrupted ones are resumed."""
    jobs: int = 1
    """Processes that train at the same time."""
    cache: Path | None = None
    """Folder of the activations of frozen biLMs, as for `train`."""
    tasks: tuple[str, ...] = ()
    """The tasks that are trained, by any of their names; empty for all that the tables need."""
    finished: tuple[Path, ...] = ()
    """Logs of runs that were trained elsewhere, such as a runs.jsonl: these runs are skipped."""

    def __post_init__(self) -> None:
        if self.jobs < 1:
            raise ValueError(f"{self.jobs} jobs; expected at least 1")


def plan_runs(training: Training) -> list[PlannedRun]:
    """The runs that the tables and figures need, each once.

    Runs with another system's vectors are not trained here. Raises ValueError for tables without runs, and for a task
    of which they need none.
    """
    planned = [run for table, setup in training.plans if table.plan is not None for run in table.plan(setup)]
    runs = distinct_runs(run for run in planned if run.model is None or run.model.is_made_here)
    needed = dict.fromkeys(run.task for run in runs)
    names = ", ".join(table.name for table, _ in training.plans)
    if not needed:
        raise ValueError(f"{names}: no runs are trained for it; `python -m paper NAME` measures it")
    wanted = [find_task(task).name for task in training.tasks]
    if unneeded := [task for task in wanted if task not in needed]:
        raise ValueError(f"no run of {', '.join(unneeded)} is needed for {names}; the runs are of {', '.join(needed)}")
    return [run for run in runs if run.task in wanted] if wanted else runs


def missing_runs(runs: Sequence[PlannedRun], training: Training) -> list[PlannedRun]:
    """Those that are finished neither here nor elsewhere. Raises ValueError for runs of other settings or data."""
    folders = [(run, training.runs_dir / run.name) for run in runs]
    here = [(run, read_runs([folder])[0]) for run, folder in folders if (folder / CONFIG_NAME).is_file()]
    _check_recorded_data(here)
    logged = [*read_runs(training.finished), *(one for _, one in here)]
    return [run for run in runs if not any(_is_result_of(one, run) for one in logged if one.name == run.name)]


def check_data(runs: Sequence[PlannedRun]) -> None:
    """Raise FileNotFoundError that lists the data sets, word vectors and held-out text that are missing."""
    missing: list[str] = []
    for data, task in {run.data: run.task for run in runs}.items():
        try:
            find_task(task).find(data)
        except (OSError, ValueError) as error:
            missing.append(str(error) if data.is_dir() else f"{data}: there is no such folder")
    models = [run.model for run in runs if run.model is not None and run.model.kind in EARLIER]
    files = {Path(run.config.inputs.word_vectors): "word vectors" for run in runs if run.config.inputs.word_vectors}
    files |= {model.data / HELD_OUT: "held-out text" for model in models}
    missing += [f"{path}: there is no such file; expected {what}" for path, what in files.items() if not path.is_file()]
    if missing:
        raise FileNotFoundError(". ".join([*missing, WHERE_DATA_ARE]))


def train_for(training: Training) -> None:
    """Train what the tables and figures need, once all of their data are there.

    Intervals over test items and ensembles need weights, so they are measured of what was trained here. A run that
    diverges is reported on stderr and left out, now and later: its log says so. Raises ValueError for a run of other
    settings, and what `check_data`, making a model and training raise.
    """
    missing = missing_runs(plan_runs(training), training)
    check_data(missing)
    everywhere = [training.runs_dir, *training.finished]
    finished = read_evidence(training.plans[0][1], everywhere).runs  # what it refuses, it refuses before the training
    for run in missing:
        if run.name in finished and (where := finished[run.name].where) != str(training.runs_dir / run.name):
            raise ValueError(f"{where} has no test scores, and a second run of its name could not be told from it")
    train_planned(missing, training)
    for table, setup in training.plans:
        if table.name == "table1":
            measure_test_items(tested(read_evidence(setup, everywhere)), training.runs_dir)


def train_planned(runs: Sequence[PlannedRun], training: Training) -> None:
    """Train runs in their order, or go on with those that were interrupted; with several jobs, their ends vary."""
    one = partial(_train_one, folder=training.runs_dir, cache=training.cache)
    if training.jobs == 1:
        for run in runs:
            one(run)
        return
    for run in {(run.model, run.config.inputs.elmo and run.config.inputs.elmo.model): run for run in runs}.values():
        _config(run, training.runs_dir)  # so that biLMs are made once
    with ProcessPoolExecutor(training.jobs, mp_context=get_context("spawn")) as processes:
        list(processes.map(one, runs))


def _check_recorded_data(here: Sequence[tuple[PlannedRun, LoggedRun]]) -> None:
    """Raise ValueError for runs on other data than those of the plan; the same data may have moved."""
    elsewhere: dict[object, tuple[PlannedRun, TaskRun]] = {}
    for run, logged in here:
        found, folder = read_task_run(logged), run.data.resolve()
        if folder.is_dir() and any(folder not in path.parents for path in found.files):
            elsewhere[found.files, folder] = run, found  # one run of each data set, which takes long to read
    for run, found in elsewhere.values():
        task = find_task(run.task)
        try:
            record = moved(found.record, task, run.data, None)
            check_is_unchanged(task, record, read_data(task, record.splits, record.config))
        except ValueError as error:
            other = f"{found.where} holds a run on {found.files[0].parent}, not on {run.data}; give another --results"
            raise ValueError(f"{other} ({error})") from error


def _is_result_of(logged: LoggedRun, run: PlannedRun) -> bool:
    """Whether a logged run has the result of a planned one, or has diverged. Raises ValueError for other settings."""
    found = read_task_run(logged)
    check_settings(found, run)
    return found.diverged or (found.result is not None and (bool(found.result.test) or not run.scores_tests))


def _train_one(run: PlannedRun, *, folder: Path, cache: Path | None) -> None:
    run_dir, test = folder / run.name, run.scores_tests
    print(run.name, file=sys.stderr, flush=True)
    try:
        config = _config(run, folder)
        if (run_dir / CONFIG_NAME).is_file():
            model = config.inputs.elmo and config.inputs.elmo.model  # it and the data may have moved
            resume_task(run_dir, data=run.data, elmo_model=model, test=test, cache=cache)
        else:
            train(run.task, run.data, run_dir=run_dir, config=config, test=test, cache=cache)
    except InUseError:
        advice = f"wait until it has ended, or give another --results than {folder}"
        raise InUseError(f"{run_dir}: another process trains this run; {advice}") from None
    except DivergenceError as error:
        print(f"{run.name} has diverged: {error}", file=sys.stderr, flush=True)
        log = run_dir / METRICS_NAME
        num_epochs = len(read_log(log).records) if log.exists() else 0
        append_json_line(log, {"epoch": num_epochs + 1, "diverged": str(error)})


def _config(run: PlannedRun, folder: Path) -> TaskConfig:
    """The run's config with the folder of its biLM, which is made if it is not there."""
    models, elmo = folder / MODELS_FOLDER, run.config.inputs.elmo
    if elmo is None:
        return run.config
    made = make_model(run.model, models) if run.model is not None else weights_of(elmo.model, models)
    return with_settings(run.config, [f"elmo.model={made}"])
