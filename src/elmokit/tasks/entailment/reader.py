"""Reader of pairs of sentences with a label: JSON lines (SNLI, MultiNLI), a JSON list (KLUE-NLI), tables (SICK)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.files.lines import lines_and_first, whole
from elmokit.system.messages import first_token
from elmokit.tasks.text_spans import tokens_of
from elmokit.text.corpora.cells import json_lines
from elmokit.text.corpora.tables import table_rows

LABELS = ("entailment", "neutral", "contradiction")

_COLUMNS = (
    ("sentence1", "premise", "sentence_A"),
    ("sentence2", "hypothesis", "sentence_B"),
    ("gold_label", "label", "entailment_judgment", "entailment_label"),
)
_UNDECIDED = "-"


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences, and whether the first one, the premise, entails the second."""

    premise: list[str]
    hypothesis: list[str]
    label: str | None
    """One of `LABELS`; None (`-` in the file) if the annotators did not agree: such a pair counts in no result."""


def read_sentence_pairs(path: str | os.PathLike[str]) -> Iterator[SentencePair]:
    """Read JSON lines if the file begins with `{`, a JSON list if it begins with `[`, otherwise a table with a header.

    `tokenize` makes the tokens. A list is in memory as a whole.

    The fields or columns are sentence1 or premise, sentence2 or hypothesis, gold_label or label; or those of SICK,
    sentence_A, sentence_B, and entailment_judgment or entailment_label. Labels may be in upper case, as in SICK, and
    have spaces around them.
    Raises ValueError, with the file and the line, for bad JSON, missing fields, rows that are shorter or longer than
    the header, an unknown label, a sentence without tokens, and a file without pairs.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    if not first:
        raise ValueError(f"{name} has no pairs; expected JSON lines, or a header, then lines of tab-separated columns")
    records = {"{": _json_lines, "[": _json_list}.get(first.lstrip()[:1], partial(table_rows, columns=_COLUMNS))
    for where, (premise, hypothesis, label) in records(lines, name=name):
        label = label.strip().lower()
        if label not in (*LABELS, _UNDECIDED):
            raise ValueError(
                f"{where}: the label is {first_token(label)}; expected {', '.join(LABELS)}, or {_UNDECIDED} for none"
            )
        yield SentencePair(
            premise=tokens_of(premise, where=f"{where}, premise: "),
            hypothesis=tokens_of(hypothesis, where=f"{where}, hypothesis: "),
            label=None if label == _UNDECIDED else label,
        )


def _json_lines(lines: Iterable[str], *, name: str) -> Iterator[tuple[str, list[str]]]:
    return ((str(record.where), _cells(record)) for record in json_lines(lines, name=name))


def _json_list(lines: Iterable[str], *, name: str) -> Iterator[tuple[str, list[str]]]:
    content = parse_json_object("".join(['{"pairs":', "\n".join(whole(lines, name)), "}"]), where=name)
    pairs = Fields(name, content).list_of_fields("pairs")
    if not pairs:
        raise ValueError(f"{name} has no pairs; the list is empty")
    for number, record in enumerate(pairs):
        yield f"{name}, pair {number}", _cells(record)


def _cells(record: Fields) -> list[str]:
    return [record.text(next((name for name in names if name in record), names[0])) for names in _COLUMNS]
