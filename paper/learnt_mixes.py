"""The mixes of layers that the tasks have learnt, means over their runs: what the explorer offers as presets."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from elmokit.files.atomic import atomic_write
from elmokit.tasks.all_tasks import TASKS
from elmokit.web.explore.presets import TaskMix
from paper.families import read_task_runs
from paper.figure2 import PLACES, largest_group, mixes_layers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from elmokit.tasks.task_runs import TaskRun


def learnt_mixes(paths: Sequence[Path]) -> list[TaskMix]:
    """Those of each model and task, as in figure 2, from the runs that `largest_group` names."""
    runs = [run for run in read_task_runs(paths) if mixes_layers(run)]
    models = sorted({_model(run) for run in runs})
    data = sorted({run.data for run in runs})
    found: list[TaskMix] = []
    for model, task, name, place in ((m, t, d, p) for m in models for t in TASKS for d in data for p in PLACES):
        these = [
            run
            for run in runs
            if (_model(run), run.record.task, run.data) == (model, task, name) and place in _mixes(run)
        ]
        if these:
            found.append(_mean(largest_group(these), place))
    return found


def write_learnt_mixes(path: Path, mixes: Sequence[TaskMix]) -> None:
    """Write the mixes as JSON, one per line, that `read_learnt_mixes` reads back."""
    lines = ",\n".join(json.dumps(asdict(mix)) for mix in mixes)
    with atomic_write(path) as unfinished:
        unfinished.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _mean(runs: Sequence[TaskRun], place: str) -> TaskMix:
    mixes = [_mixes(run)[place] for run in runs]
    by_layer = zip(*(mix.weights for mix in mixes), strict=True)
    run = runs[0]
    return TaskMix(
        model=_model(run),
        fingerprint=run.record.fingerprint or "",
        task=run.record.task,
        data=run.data,
        place=place,
        num_runs=len(runs),
        weights=tuple(round(statistics.fmean(of_layer), 4) for of_layer in by_layer),
        gamma=round(statistics.fmean(mix.gamma for mix in mixes), 4),
    )


def _model(run: TaskRun) -> str:
    elmo = run.record.config.inputs.elmo
    return "" if elmo is None else PurePath(elmo.model).name


def _mixes(run: TaskRun) -> Mapping[str, Any]:
    return {} if run.result is None else run.result.mixes
