"""Table 3: where ELMo's vectors go: at the input of the first encoder, at its output, or at both."""

from __future__ import annotations

from paper.ablation import Ablation, Claim
from paper.plan import NO_ELMO, Arm
from paper.printed import TABLE_3

TABLE = Ablation(
    name="table3",
    paper=TABLE_3,
    # the paper's three; coreference, of which it says that the input alone is best; and sentiment, with ELMo at both
    tasks=("semantic-roles", "coreference", "entailment", "question-answering", "sentiment"),
    arms=(NO_ELMO, Arm("input", ("elmo=input",)), Arm("both", ("elmo=both",)), Arm("output", ("elmo=output",))),
    columns=("input", "both", "output"),
    differences=(("input", "no ELMo"), ("both", "input"), ("both", "output")),
)
INPUT_IS_BEST = (("input", "both"), ("input", "output"))
BOTH_ARE_BEST = (("both", "input"), ("both", "output"))
PLACEMENT = Claim(
    "ELMo at input and output is best for SNLI and SQuAD, at the input alone for SRL and coreference",
    {"SRL": INPUT_IS_BEST, "Coref": INPUT_IS_BEST, "SNLI": BOTH_ARE_BEST, "SQuAD": BOTH_ARE_BEST},
    shown={"SST-5": BOTH_ARE_BEST},
)
