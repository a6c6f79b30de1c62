"""Comparisons without printed numbers: the mix's scale gamma, layer normalisation, dropout; and the Korean tasks."""

from __future__ import annotations

from paper.ablation import Ablation, Claim
from paper.plan import DATASETS, ELMO, NO_ELMO, SIX_TASKS, Arm
from paper.printed import DROPOUT, GAMMA, KOREAN_TASKS, LAYER_NORM

_AS_THEY_ARE = "elmo.rescale=false"
"""As in the paper: rescaling is another remedy for vectors of the wrong size."""
_LEARNT, _FIXED = "elmo.train_gamma=true", "elmo.train_gamma=false"

GAMMA_TABLE = Ablation(
    name="gamma",
    paper=GAMMA,
    tasks=("semantic-roles", "entailment", "named-entities"),
    arms=(
        NO_ELMO,
        Arm("top layer, gamma learnt", ("elmo.layers=top", _LEARNT, _AS_THEY_ARE)),
        Arm("top layer, gamma 1", ("elmo.layers=top", _FIXED, _AS_THEY_ARE)),
        Arm("all layers, gamma learnt", ("elmo.layers=mix", _LEARNT, _AS_THEY_ARE)),
        Arm("all layers, gamma 1", ("elmo.layers=mix", _FIXED, _AS_THEY_ARE)),
    ),
)
_TOP_LAYER = (("top layer, gamma learnt", "top layer, gamma 1"),)
GAMMA_IS_NEEDED = Claim("The scale gamma is needed", dict.fromkeys(("SRL", "SNLI"), _TOP_LAYER), {"NER": _TOP_LAYER})

LAYER_NORM_TABLE = Ablation(
    name="layernorm",
    paper=LAYER_NORM,
    tasks=("semantic-roles", "entailment", "sentiment"),
    arms=(
        NO_ELMO,
        Arm("layers as they are", ("elmo.layer_norm=false", _AS_THEY_ARE)),
        Arm("layer norm", ("elmo.layer_norm=true", _AS_THEY_ARE)),
        Arm("rescaled", ("elmo.layer_norm=false", "elmo.rescale=true")),
    ),
)
DROPOUT_TABLE = Ablation(
    name="dropout",
    paper=DROPOUT,
    tasks=("semantic-roles", "entailment", "sentiment"),
    arms=(NO_ELMO, *(Arm(rate, (f"elmo.dropout_rate={rate}",)) for rate in ("0.0", "0.2", "0.5"))),
)
KOREAN_TABLE = Ablation(
    name="korean-tasks",
    paper=KOREAN_TASKS,
    tasks=tuple(name for name in DATASETS if name not in SIX_TASKS),
    arms=(NO_ELMO, ELMO),
    tests=True,
    model="mini-ko",
)
