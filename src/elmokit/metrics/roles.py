"""Semantic roles scored as in CoNLL-2005 (X. Carreras and L. Màrquez's srl-eval.pl, of 2005-04-21)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from elmokit.metrics.score import Accuracy, Score, scores_by_label
from elmokit.metrics.spans import Span, spans_from_tags, tags_from_spans
from elmokit.system.messages import first_token

_PREDICATE = "V"  # the predicate itself is given, so it is reported but left out of the overall score
_CONTINUATION = "C-"
_CELL = re.compile(r"(?:\((?P<opened>[^()*\s]+))?\*(?:(?P<closed>[^()*\s]*)\))?")


@dataclass(frozen=True, slots=True)
class Argument:
    """A role and the tokens that fill it: the first and last token of each piece, inclusive. Most have one piece."""

    role: str
    pieces: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RoleScore:
    """Scores of semantic roles."""

    by_label: dict[str, Score]
    """Score of each role, including V; R-X is a separate role, whereas C-X is part of X."""
    perfect: Accuracy
    """Share of the gold predicates whose arguments, apart from V, are all correct."""

    @property
    def overall(self) -> Score:
        """Micro-average over all roles except V."""
        return sum((score for role, score in self.by_label.items() if role != _PREDICATE), Score())


def score_roles(*, gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> RoleScore:
    """Compare the arguments in the BIO tags of each predicate. An argument is correct if its role and all pieces are.

    All arguments of a predicate without predicted tags are missed. (The Perl script also compares the lemmas of the
    predicates.) Raises ValueError if there are more or fewer predictions than predicates.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} predicates; expected one for each predicate")
    true, found = _items(gold), _items(predicted)
    imperfect = {number for role, number, _ in true ^ found if role != _PREDICATE}
    by_label = scores_by_label(gold=true, predicted=found)
    return RoleScore(by_label, Accuracy(len(gold) - len(imperfect), len(gold)))


def _items(predicates: Sequence[Sequence[str]]) -> set[tuple[str, int, Argument]]:
    return {(each.role, number, each) for number, tags in enumerate(predicates) for each in arguments_from_tags(tags)}


def arguments_from_tags(tags: Sequence[str]) -> list[Argument]:
    """Arguments in the BIO tags of one predicate (read by `spans_from_tags`).

    A span of C-X is a further piece of the last X before it; without such an X it is a new argument X.
    """
    arguments: list[tuple[str, list[tuple[int, int]]]] = []
    last_pieces: dict[str, list[tuple[int, int]]] = {}
    for span in spans_from_tags(tags):
        extent = (span.first, span.last)
        role = span.label.removeprefix(_CONTINUATION)
        if role != span.label and role in last_pieces:
            last_pieces[role].append(extent)
        else:
            last_pieces[role] = [extent]
            arguments.append((role, last_pieces[role]))
    return [Argument(role, tuple(pieces)) for role, pieces in arguments]


def tags_from_props(column: Sequence[str]) -> list[str]:
    """BIO tags from one predicate's column of brackets in CoNLL-2005 and CoNLL-2012: `(A0*`, `*`, `*)`, `(V*)`.

    Raises ValueError, naming the position, for a cell in any other form and for brackets that nest, overlap or do not
    match.
    """
    spans: list[Span] = []
    label, first = "", 0  # of the open argument
    for position, cell in enumerate(column):
        match = _CELL.fullmatch(cell)
        if match is None or (label and match["opened"]):
            raise _not_a_cell(position, cell)
        if match["opened"]:
            label, first = match["opened"], position
        if match["closed"] is not None:
            if not label or match["closed"] not in ("", label):  # CoNLL-2004 also names the role at its end
                raise _not_a_cell(position, cell)
            spans.append(Span(label, first, position))
            label = ""
    if label:
        raise ValueError(f"token {first}: {label} opens here and is never closed")
    return tags_from_spans(spans, num_tokens=len(column), scheme="BIO")


def props_from_tags(tags: Sequence[str]) -> list[str]:
    """The column of brackets for one predicate's BIO tags, as `tags_from_props` and srl-eval.pl read it."""
    column = ["*"] * len(tags)
    for span in spans_from_tags(tags):
        column[span.first] = f"({span.label}{column[span.first]}"
        column[span.last] += ")"
    return column


def _not_a_cell(position: int, cell: str) -> ValueError:
    return ValueError(
        f"token {position}: {first_token(cell)} is not a cell of brackets here; expected '*', '(A0*', '*)' or '(A0*)', "
        "since the spans of a column neither nest nor overlap"
    )
