"""Table 7: perplexity of the biLM on each task's text before and after one epoch of fine-tuning, and what it brings."""

from __future__ import annotations

from elmokit.files.json_fields import Fields
from elmokit.formats.names import with_fingerprint
from elmokit.metrics.statistics import Statistic
from paper.ablation import Ablation, Claim
from paper.plan import FINETUNED, NO_ELMO, Arm
from paper.printed import TABLE_7
from paper.reproduction import OurRow, Reproduction
from paper.results import newest, read_results
from paper.runs import Evidence

ROWS = {
    ("entailment", ""): "SNLI",
    ("semantic-roles", ""): "CoNLL 2012 (coref/SRL)",
    ("named-entities", ""): "CoNLL 2003 (NER)",
    ("question-answering", "contexts"): "SQuAD, contexts",
    ("question-answering", "questions"): "SQuAD, questions",
    ("sentiment", ""): "SST",
}
"""The paper's rows by task and part of its text; ours of semantic roles is the English Web Treebank."""
SCORES = Ablation(
    name="table7",
    paper=TABLE_7,
    tasks=("named-entities", "semantic-roles", "entailment", "question-answering", "sentiment"),
    arms=(NO_ELMO, Arm("not fine-tuned"), Arm("fine-tuned", vectors=FINETUNED)),
    differences=(("fine-tuned", "not fine-tuned"),),
)
FINE_TUNING = Claim(
    "One epoch of fine-tuning lowers the biLM's perplexity, and SNLI gains",
    {"SNLI": SCORES.differences},
    shown=dict.fromkeys(("NER", "SRL", "SQuAD", "SST-5"), SCORES.differences),
)


def our_rows(evidence: Evidence) -> list[OurRow]:
    """A row for each text that was measured."""
    return [
        OurRow(
            row_of(fields),
            f"{fields.text('data')}, {with_fingerprint(fields.text('model'), fields.text('fingerprint'))}",
            tuple(Statistic((fields.fields(when).number("mean"),)) for when in ("before", "after")),
        )
        for fields in newest(read_results(evidence.results, SCORES.name), "tuned", "part", "data")
    ]


def row_of(fields: Fields) -> str:
    """The paper's row for a record of perplexities."""
    return ROWS[fields.text("task"), fields.text("part")]


REPRODUCTION = Reproduction(SCORES.name, TABLE_7, our_rows, SCORES.details, plan=SCORES.plan)
