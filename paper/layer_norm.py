"""Layer normalisation before the mix (section 3.2), compared with our remedy: layers rescaled once to one size."""

from __future__ import annotations

from paper.ablation import Ablation
from paper.printed import LAYER_NORM

ABLATION = Ablation(
    name="layernorm",
    paper=LAYER_NORM,
    tasks=("semantic-roles", "entailment", "sentiment"),
    vary=("layer_norm", "rescale"),
    arms={
        "layers as they are": (False, False),
        "layer norm": (True, False),
        "rescaled": (False, True),
    },
)
REPRODUCTION = ABLATION.reproduction()
