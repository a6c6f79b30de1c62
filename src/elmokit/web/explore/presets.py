"""Presets of equation 1 for the sliders of the explorer: the mixes that the tasks have learnt for a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo

LEARNT_MIXES = "learnt_mixes.json"
"""Written by `experiments/explorer_presets.py` from the logs of runs."""


@dataclass(frozen=True)
class TaskMix:
    """The mix that a task has learnt for the layers of a model, at one place."""

    model: str
    fingerprint: str
    """Fingerprint of the weights that it had then."""
    task: str
    data: str
    """Name of the folder of the training data."""
    place: str
    """input or output."""
    num_runs: int
    weights: tuple[float, ...]
    """Means over the runs of the weights after the softmax, lowest layer first; `gamma` is the mean scale."""
    gamma: float


def presets(elmo: Elmo) -> list[dict[str, Any]]:
    """The mixes of a model: those learnt with its weights, and those of a bundled model with the weights of before."""
    fingerprint = elmo.fingerprint()
    mixes = read_learnt_mixes((files("elmokit.web.explore") / LEARNT_MIXES).read_text(encoding="utf-8"))
    return [
        {
            "task": mix.task,
            "data": mix.data,
            "place": mix.place,
            "runs": mix.num_runs,
            "weights": mix.weights,
            "isFormer": mix.fingerprint != fingerprint,
        }
        for mix in mixes
        if mix.fingerprint == fingerprint or mix.model == elmo.name
    ]


def read_learnt_mixes(text: str) -> list[TaskMix]:
    """The mixes of a file LEARNT_MIXES."""
    return [TaskMix(**values | {"weights": tuple(values["weights"])}) for values in json.loads(text)]
