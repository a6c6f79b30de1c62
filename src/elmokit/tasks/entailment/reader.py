"""Reader of pairs of sentences with a label: JSON lines (SNLI, MultiNLI), a JSON list (KLUE-NLI), tables (SICK)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from elmokit.files.lines import lines_and_first
from elmokit.tasks.task import tokens_of
from elmokit.text.corpora.tables import rows_of

LABELS = ("entailment", "neutral", "contradiction")

_COLUMNS = (
    ("sentence1", "premise", "sentence_A"),
    ("sentence2", "hypothesis", "sentence_B"),
    ("gold_label", "label", "entailment_judgment", "entailment_label"),
)
_UNDECIDED = ("-", "", "-1")
"""What SNLI, and its copy at Hugging Face, write if the annotators did not agree."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences, and whether the first one, the premise, entails the second, or another relation of the two."""

    premise: list[str]
    hypothesis: list[str]
    label: str | None
    """Usually one of `LABELS`; None if the annotators did not agree: such a pair counts in no result."""


def read_sentence_pairs(path: str | os.PathLike[str]) -> Iterator[SentencePair]:
    """Read JSON lines, a JSON list, or a table with a header (`rows_of`); `tokenize` makes the tokens.

    The fields or columns are sentence1 or premise, sentence2 or hypothesis, gold_label or label; or those of SICK,
    sentence_A, sentence_B, and entailment_judgment or entailment_label. Any label is read. `LABELS` may be in upper
    case, as in SICK. A label that is missing, null or `-` is none.
    Raises ValueError, with the file and the line, as `rows_of` does, and for a sentence without tokens.
    """
    for where, (premise, hypothesis, given) in rows_of(*lines_and_first(path), name=os.fspath(path), columns=_COLUMNS):
        label = given.strip()
        if label.lower() in LABELS:
            label = label.lower()
        yield SentencePair(
            premise=tokens_of(premise, where=f"{where}, premise: "),
            hypothesis=tokens_of(hypothesis, where=f"{where}, hypothesis: "),
            label=None if label in _UNDECIDED else label,
        )
