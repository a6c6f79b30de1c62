"""Semantic roles scored as in CoNLL-2005 (X. Carreras and L. Màrquez's srl-eval.pl, of 2005-04-21)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from elmokit.metrics.score import Score, add_by_label, scores_by_label
from elmokit.metrics.spans import Span, spans_from_tags, tags_from_spans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PREDICATE = "V"  # the predicate itself is given, so it is reported and left out of the overall score
_CONTINUATION = "C-"
_CELL = re.compile(r"(?:\((?P<opened>[^()*\s]+))?\*(?:(?P<closed>[^()*\s]*)\))?")


@dataclass(frozen=True, slots=True)
class Argument:
    """A role and the tokens that fill it: its pieces' first and last token, both included. Most have one piece."""

    role: str
    pieces: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class RoleScore:
    """Score of semantic roles; `+` joins batches."""

    by_role: dict[str, Score] = field(default_factory=dict[str, Score])
    """Each role, V among them; R-X is a role of its own, C-X is part of X."""
    num_predicates: int = 0
    """Gold predicates."""
    num_perfect: int = 0
    """Gold predicates whose arguments, apart from V, are all right."""
    num_missing: int = 0
    """Gold predicates without a prediction: all of their arguments are missed."""
    num_skipped: int = 0
    """Predicted predicates that are not gold: none of their arguments counts."""

    @property
    def overall(self) -> Score:
        """Micro-average over all roles but V."""
        return sum((score for role, score in self.by_role.items() if role != _PREDICATE), Score())

    def __add__(self, other: RoleScore) -> RoleScore:
        return RoleScore(
            by_role=add_by_label(self.by_role, other.by_role),
            num_predicates=self.num_predicates + other.num_predicates,
            num_perfect=self.num_perfect + other.num_perfect,
            num_missing=self.num_missing + other.num_missing,
            num_skipped=self.num_skipped + other.num_skipped,
        )


def score_roles(
    *, gold: Sequence[Mapping[int, Sequence[str]]], predicted: Sequence[Mapping[int, Sequence[str]]]
) -> RoleScore:
    """Compare arguments: one is right if its role and all of its pieces are.

    For each sentence, the BIO tags of each predicate, under the position of its token. (The Perl script compares the
    predicates' lemmas too.) Raises ValueError when the numbers of sentences or of tags differ, or a tag is none.
    """
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} sentences with gold roles but {len(predicted)} with predicted ones")
    right, guessed, true = Counter[str](), Counter[str](), Counter[str]()
    num_perfect = num_missing = num_skipped = 0
    for number, (gold_tags, predicted_tags) in enumerate(zip(gold, predicted, strict=True)):
        for position, tags in gold_tags.items():
            guess = predicted_tags.get(position, ["O"] * len(tags))
            where = f"sentence {number}, predicate at token {position}"
            if len(tags) != len(guess):
                raise ValueError(f"{where}: {len(tags)} gold tags but {len(guess)} predicted ones")
            try:
                truth, found = set(arguments_from_tags(tags)), set(arguments_from_tags(guess))
            except ValueError as error:
                raise ValueError(f"{where}, {error}") from None
            right.update(argument.role for argument in truth & found)
            guessed.update(argument.role for argument in found)
            true.update(argument.role for argument in truth)
            num_perfect += all(argument.role == _PREDICATE for argument in truth ^ found)
        num_missing += len(gold_tags.keys() - predicted_tags.keys())
        num_skipped += len(predicted_tags.keys() - gold_tags.keys())
    return RoleScore(
        by_role=scores_by_label(correct=right, predicted=guessed, gold=true),
        num_predicates=sum(len(tags) for tags in gold),
        num_perfect=num_perfect,
        num_missing=num_missing,
        num_skipped=num_skipped,
    )


def arguments_from_tags(tags: Sequence[str]) -> list[Argument]:
    """Arguments of one predicate's BIO tags (read by `spans_from_tags`).

    A span of C-X is a further piece of the last X before it; without such an X it is an X of its own.
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
    """BIO tags of one predicate's column of brackets in CoNLL-2005 and CoNLL-2012: `(A0*`, `*`, `*)`, `(V*)`.

    Raises ValueError, with the position, for a cell of another form and for brackets that nest, overlap or do not pair.
    """
    spans: list[Span] = []
    opened: tuple[str, int] | None = None
    for position, cell in enumerate(column):
        match = _CELL.fullmatch(cell)
        if match is None:
            raise ValueError(
                f"token {position}: {cell!r} is no cell of roles; expected '*', '(A0*', '*)' or '(A0*)' "
                "(the arguments of a predicate do not nest)"
            )
        if match["opened"] is not None:
            if opened is not None:
                raise ValueError(
                    f"token {position}: {cell!r} opens an argument within {opened[0]}, open since token {opened[1]}; "
                    "the arguments of a predicate do not overlap"
                )
            opened = (match["opened"], position)
        if match["closed"] is not None:
            if opened is None:
                raise ValueError(f"token {position}: {cell!r} closes an argument, but none is open")
            label, first = opened
            if match["closed"] not in ("", label):  # CoNLL-2004 names the role at its end too
                raise ValueError(f"token {position}: {cell!r} closes {label}, open since token {first}")
            spans.append(Span(label, first, position))
            opened = None
    if opened is not None:
        raise ValueError(f"token {opened[1]}: {opened[0]} opens here and is never closed")
    return tags_from_spans(spans, num_tokens=len(column), scheme="BIO")


def props_from_tags(tags: Sequence[str]) -> list[str]:
    """The column of brackets of one predicate's BIO tags: what `tags_from_props` reads and srl-eval.pl too."""
    column = ["*"] * len(tags)
    for span in spans_from_tags(tags):
        column[span.first] = f"({span.label}{column[span.first]}"
        column[span.last] += ")"
    return column
