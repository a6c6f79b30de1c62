"""Dropout of ELMo's vectors (section 3.3)."""

from __future__ import annotations

from paper.ablation import Ablation
from paper.printed import DROPOUT

ABLATION = Ablation(
    name="dropout",
    paper=DROPOUT,
    tasks=("semantic-roles", "entailment", "sentiment"),
    vary=("dropout_rate",),
    arms={"none": (0.0,), "0.2": (0.2,), "0.5": (0.5,)},
)
REPRODUCTION = ABLATION.reproduction()
