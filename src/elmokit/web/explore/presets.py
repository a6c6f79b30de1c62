"""Presets of equation 1 for the sliders of the explorer: the mixes that the tasks have learnt for a model."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from elmokit.reproduce.learnt_mixes import read_learnt_mixes

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo

LEARNT_MIXES = "learnt_mixes.json"
"""Written by `experiments/explorer_presets.py` from the logs of runs."""


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
            "gamma": mix.gamma,
            "isFormer": mix.fingerprint != fingerprint,
        }
        for mix in mixes
        if mix.fingerprint == fingerprint or mix.model == elmo.name
    ]
