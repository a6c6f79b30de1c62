"""The scale gamma of the mix (appendix A.2): the top layer alone and the mix, with gamma learnt or fixed at 1.

Layers are not rescaled here, as in the paper: rescaling is another remedy for vectors of the wrong size.
"""

from __future__ import annotations

from paper.ablation import Ablation
from paper.printed import GAMMA

ABLATION = Ablation(
    name="gamma",
    paper=GAMMA,
    tasks=("semantic-roles", "entailment", "named-entities"),
    vary=("layers", "train_gamma", "rescale"),
    arms={
        "top layer, gamma learnt": ("top", True, False),
        "top layer, gamma 1": ("top", False, False),
        "all layers, gamma learnt": ("mix", True, False),
        "all layers, gamma 1": ("mix", False, False),
    },
)
REPRODUCTION = ABLATION.reproduction()
