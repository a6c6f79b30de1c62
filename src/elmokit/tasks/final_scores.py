"""The end of a task's run: the scores of its best weights, the last line of its log."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmokit.layers.devices import describe_machine
from elmokit.layers.scalar_mix import ScalarMix
from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.metrics_log import append_json_line, keep_records, provenance, read_log
from elmokit.runs.tensor_files import read_tensors
from elmokit.system.messages import printable
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.loop import DEV_NAME, TaskTraining
from elmokit.tasks.reading import TaskExamples
from elmokit.tasks.run_folder import BEST_FILE
from elmokit.tasks.task import E, P


def finish(loop: TaskTraining[E, P], examples: TaskExamples[E]) -> None:
    """Train to the end, and log the scores of the best weights; print those of test files.

    A log that has them already stays as it is if there are no test files, which may have changed.
    """
    done_before = loop.progress.stopped_by(loop.config) is not None
    metrics = loop.run_dir / METRICS_NAME
    last_epoch = loop.progress.epoch
    before = _results(metrics)
    keep_records(
        metrics, lambda record: record.integer("epoch") <= last_epoch and (done_before or "result" not in record)
    )
    loop.run()
    if examples.test or not _results(metrics):
        loop.model.load_state_dict(read_tensors(loop.run_dir / BEST_FILE))
        now = (last_epoch, loop.progress.best_epoch)  # of a result whose weights are still the best
        kept = [result.get("test", {}) for result in before if (result.get("epoch"), result.get("best_epoch")) == now]
        test = {name: loop.scores(part, label=printable(name)) for name, part in examples.test.items()}
        result = _result(loop, loop.scores(examples.dev, label=DEV_NAME), test or (kept or [{}])[-1])
        keep_records(metrics, lambda record: "result" not in record)
        append_json_line(metrics, result)
        for name, scores in test.items():
            shown = ", ".join(f"{score} {number:.2f}" for score, number in scores.items())
            print(
                f"{name}, with the weights that are best on the development set: {shown}", file=sys.stderr, flush=True
            )


def _results(metrics: Path) -> list[dict[str, Any]]:
    return [record for record in read_log(metrics).records if "result" in record]


def _result(
    loop: TaskTraining[E, P], dev: Mapping[str, float], test: Mapping[str, Mapping[str, float]]
) -> dict[str, object]:
    """The last line of the log; the loop's model has the weights of the best epoch."""
    model, progress = loop.model, loop.progress
    return {
        "epoch": progress.epoch,
        "best_epoch": progress.best_epoch,
        "result": True,
        "stopped_by": progress.stopped_by(loop.config),
        "dev": dev,
        "test": test,
        "mixes": _mixes(model.inputs),
        "seconds": round(progress.seconds, 1),
        "processor_seconds": round(progress.processor_seconds, 1),
        "machine": describe_machine(next(model.parameters()).device),
        **provenance(),
    }


def _mixes(inputs: TokenInputs) -> dict[str, dict[str, object]]:
    """What ELMo's mixes at the input and at the output have learnt: shares of the layers, lowest layer first."""
    learnt: dict[str, dict[str, object]] = {}
    for position, mix in inputs.mixes().items():
        learnt[position] = {"gamma": round(mix.gamma.item(), 6)}
        if isinstance(mix, ScalarMix):
            learnt[position]["shares"] = [round(share.item(), 6) for share in mix.shares]
    return learnt
