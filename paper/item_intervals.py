"""Intervals over test items, and ensembles, from the models in run folders; kept as results of table 1."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.metrics.interval import paired_bootstrap
from elmokit.runs.logged_runs import read_runs
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.reading import read_files
from elmokit.tasks.saved import load_task
from paper.comparisons import comparisons_among
from paper.ensemble import TASKS, ensemble_predictions
from paper.families import usual_runs
from paper.item_counts import ITEM_COUNTS
from paper.item_records import NAME
from paper.results import append_result, read_results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.metrics.interval import Counts
    from elmokit.tasks.task_runs import TaskRun
    from paper.comparisons import Arm, Comparison


def measure_test_items(folder: Path) -> None:
    """Measure what the results of a folder of runs lack: an interval and an ensemble for each comparison on a test set.

    Raises FileNotFoundError if the folder has no runs, and what loading the models raises.
    """
    for comparison in comparisons_among(usual_runs(read_runs([folder]))).comparisons:
        for test_set in comparison.test_sets:
            if test_set is not None:
                _measure(comparison.paired(test_set), test_set, folder)


def _measure(comparison: Comparison, test_set: str, folder: Path) -> None:
    names = {
        "task": comparison.task,
        "data": comparison.data,
        "test_set": test_set,
        "baseline": [run.name for run in comparison.baseline.runs],
        "elmo": [run.name for run in comparison.elmo.runs],
        "model": comparison.elmo.runs[0].model,
    }
    known = [{name: fields.value(name) for name in names} for fields in read_results([folder], NAME)]
    if names in known:
        return
    counts = ITEM_COUNTS[comparison.task]
    first, second = (_counts(arm, test_set) for arm in (comparison.baseline, comparison.elmo))
    interval = paired_bootstrap(first, second, score=counts.score)
    append_result(folder, NAME, {**names, "interval": asdict(interval), "ensembles": _ensembles(comparison, test_set)})


def _counts(arm: Arm, test_set: str) -> list[list[Counts]]:
    """For each run, what each test item adds."""
    counted: list[list[Counts]] = []
    for run in arm.runs:
        examples, of = _examples(run, test_set), ITEM_COUNTS[run.record.task].of
        predictions = load_task(run.where).model_predictions(examples)
        counted.append([of(example, made) for example, made in zip(examples, predictions, strict=True)])
    return counted


def _ensembles(comparison: Comparison, test_set: str) -> dict[str, dict[str, float]]:
    """The scores of the arms' ensembles; empty for the other tasks, and for a single run."""
    if comparison.task not in TASKS or min(len(comparison.baseline.runs), len(comparison.elmo.runs)) < 2:
        return {}
    scores: dict[str, dict[str, float]] = {}
    for name, arm in (("baseline", comparison.baseline), ("elmo", comparison.elmo)):
        members = [load_task(run.where) for run in arm.runs]
        examples = _examples(arm.runs[0], test_set)
        scores[name] = dict(members[0].task.score(examples, ensemble_predictions(members, examples)))
    return scores


def _examples(run: TaskRun, test_set: str) -> Sequence[Any]:
    task = find_task(run.record.task)
    paths = [path for path in run.record.splits.test if test_set in (path.name, str(path))]
    return read_files(task, paths, run.record.config.model, name=test_set).examples
