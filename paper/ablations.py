"""Table 2, how the layers are weighted; table 3, where ELMo goes; the mix's scale gamma, layer normalisation, dropout,
which have no printed numbers; and the Korean tasks.
"""

from __future__ import annotations

from paper.ablation import Ablation, Claim
from paper.plan import DATASETS, ELMO, NO_ELMO, SIX_TASKS, Arm
from paper.printed import DROPOUT, GAMMA, KOREAN_TASKS, LAYER_NORM, TABLE_2, TABLE_3

LAYERS_TABLE = Ablation(
    name="table2",
    paper=TABLE_2,
    tasks=("named-entities", "semantic-roles", "entailment", "question-answering"),
    arms=(
        NO_ELMO,
        Arm("last layer", ("elmo.layers=top",)),
        Arm("lambda=1", ("elmo.layers=mix", "elmo.penalty=1.0")),
        Arm("lambda=0.1", ("elmo.layers=mix", "elmo.penalty=0.1")),
        Arm("lambda=0.001", ("elmo.layers=mix", "elmo.penalty=0.001")),
        Arm("lambda=0", ("elmo.layers=mix", "elmo.penalty=0.0")),
    ),
    columns=("no ELMo", "last layer", "lambda=1", "lambda=0.001"),
    differences=(("last layer", "no ELMo"), ("lambda=0.001", "last layer"), ("lambda=0.001", "lambda=1")),
)
_PAPERS_TASKS = ("SRL", "SNLI", "SQuAD")
"""The paper's three; of named entities it says that lambda makes no difference."""
_LAYERS = LAYERS_TABLE.differences[:2]
LAYERS_IN_ORDER = Claim(
    "All layers are better than the last alone, and the last is better than none",
    dict.fromkeys(_PAPERS_TASKS, _LAYERS),
    shown={"NER": _LAYERS},
)
_LAMBDAS = LAYERS_TABLE.differences[2:]
SMALL_LAMBDA = Claim(
    "A small lambda is better than a large one, except for named entities",
    dict.fromkeys(_PAPERS_TASKS, _LAMBDAS),
    shown={"NER": _LAMBDAS},
)
PLACES_TABLE = Ablation(
    name="table3",
    paper=TABLE_3,
    # the paper's three; coreference, of which it says that the input alone is best; and sentiment, with ELMo at both
    tasks=("semantic-roles", "coreference", "entailment", "question-answering", "sentiment"),
    arms=(NO_ELMO, Arm("input", ("elmo=input",)), Arm("both", ("elmo=both",)), Arm("output", ("elmo=output",))),
    columns=("input", "both", "output"),
    differences=(("input", "no ELMo"), ("both", "input"), ("both", "output")),
)
_INPUT_IS_BEST = (("input", "both"), ("input", "output"))
_BOTH_ARE_BEST = (("both", "input"), ("both", "output"))
PLACEMENT = Claim(
    "ELMo at input and output is best for SNLI and SQuAD, at the input alone for SRL and coreference",
    {"SRL": _INPUT_IS_BEST, "Coref": _INPUT_IS_BEST, "SNLI": _BOTH_ARE_BEST, "SQuAD": _BOTH_ARE_BEST},
    shown={"SST-5": _BOTH_ARE_BEST},
)

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
