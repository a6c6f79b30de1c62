"""Table 2: how the layers are weighted: no ELMo, the top layer alone, and mixes with a strong or a weak penalty."""

from __future__ import annotations

from paper.ablation import Ablation, Claim
from paper.plan import NO_ELMO, Arm
from paper.printed import TABLE_2

TABLE = Ablation(
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
PAPERS_TASKS = ("SRL", "SNLI", "SQuAD")
"""The paper's three; of named entities it says that lambda makes no difference."""
LAYERS = TABLE.differences[:2]
LAYERS_IN_ORDER = Claim(
    "All layers are better than the last alone, and the last is better than none",
    dict.fromkeys(PAPERS_TASKS, LAYERS),
    shown={"NER": LAYERS},
)
LAMBDAS = TABLE.differences[2:]
SMALL_LAMBDA = Claim(
    "A small lambda is better than a large one, except for named entities",
    dict.fromkeys(PAPERS_TASKS, LAMBDAS),
    shown={"NER": LAMBDAS},
)
