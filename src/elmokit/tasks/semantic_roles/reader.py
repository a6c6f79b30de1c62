"""Sentences with the roles of their predicates, out of the columns of CoNLL-2012 and CoNLL-2005."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from elmokit.metrics.roles import tags_from_props
from elmokit.text.corpora import conll2012
from elmokit.text.corpora.columns import ColumnSentence, column_sentences
from elmokit.text.corpora.penn import plain_token
from elmokit.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NONE = "-"


@dataclass(frozen=True, slots=True)
class Proposition:
    """A predicate and the BIO tags of its roles, V among them."""

    predicate: int | None
    """Token that V begins at; None where a column has no V, as some of OntoNotes' have: there is nothing to ask for."""
    tags: list[str]


@dataclass(frozen=True, slots=True)
class RoleSentence:
    """Tokens and the propositions about them: none, or several."""

    tokens: list[str]
    propositions: list[Proposition]


@dataclass(frozen=True, slots=True)
class PredicateInSentence:
    """What is asked: which tokens play which part for one predicate."""

    tokens: list[str]
    predicate: int | None
    """Its token; None where a corpus has roles without a V: nothing is asked then, and nothing found."""
    tags: list[str]
    """BIO tags of its roles, V among them; empty where they are not known."""


def read_role_sentences(path: str | os.PathLike[str]) -> Iterator[RoleSentence]:
    """CoNLL-2012 if the first line is `#begin document`; else CoNLL-2005.

    CoNLL-2005's files come apart and are pasted together: words first, props last (the lemma of each predicate or `-`,
    and a column of brackets for each), anything between. Tokens become plain (`plain_token`).
    Raises ValueError, with the file and the lines, for rows of different lengths, brackets that do not pair, two V in
    a column, two columns with the same V, more or fewer columns than predicates, and a file without sentences.
    """
    name = os.fspath(path)
    lines = read_lines(path)
    first = next(lines, "")
    lines = chain([first], lines)
    return _conll2012(lines, name) if first.startswith(conll2012.BEGIN) else _conll2005(lines, name)


def _conll2012(lines: Iterable[str], name: str) -> Iterator[RoleSentence]:
    for document in conll2012.read_conll2012(lines, name=name):
        for sentence in document.sentences:
            yield _role_sentence(sentence, conll2012.plain_tokens(sentence), conll2012.role_columns(sentence))


def _conll2005(lines: Iterable[str], name: str) -> Iterator[RoleSentence]:
    num_predicates = 0
    for sentence in column_sentences(lines, name=name):
        props = _props(sentence)
        num_predicates += len(props)
        yield _role_sentence(sentence, [plain_token(word) for word in sentence.column(0)], props)
    if not num_predicates:
        raise ValueError(
            f"{name} has no predicate; expected the columns of CoNLL-2005, or those of CoNLL-2012 below a line "
            f"'{conll2012.BEGIN} (NAME); part 000'"
        )


def _props(sentence: ColumnSentence) -> list[list[str]]:
    """The columns of brackets: those after the last column that has a cell without `*`, which is the predicates'."""
    columns = [sentence.column(index) for index in range(sentence.num_columns)]
    lemmas = next((index for index in reversed(range(1, len(columns))) if any("*" not in c for c in columns[index])), 0)
    if lemmas == 0:
        raise ValueError(f"{sentence.line(0)}: {' '.join(sentence.rows[0])[:80]!r} has no column of predicates")
    num_predicates = sum(cell != _NONE for cell in columns[lemmas])
    props = columns[lemmas + 1 :]
    if num_predicates != len(props):
        raise ValueError(
            f"{sentence.where}: {num_predicates} predicates in column {lemmas + 1}, but {len(props)} columns of "
            "roles after it; expected one for each"
        )
    return props


def _role_sentence(sentence: ColumnSentence, tokens: list[str], columns: list[list[str]]) -> RoleSentence:
    propositions: list[Proposition] = []
    for number, column in enumerate(columns, start=1):
        place = f"{sentence.where}, predicate {number}"
        try:
            tags = tags_from_props(column)
        except ValueError as error:
            raise ValueError(f"{place}, {error}") from None
        starts = [position for position, tag in enumerate(tags) if tag == "B-V"]
        if len(starts) > 1:
            raise ValueError(f"{place}: V begins at tokens {', '.join(map(str, starts))}; expected one predicate")
        predicate = starts[0] if starts else None
        if predicate is not None and predicate in [before.predicate for before in propositions]:
            raise ValueError(
                f"{sentence.line(predicate)}: {tokens[predicate]!r} is V of predicate {number} and of another one"
            )
        propositions.append(Proposition(predicate, tags))
    return RoleSentence(tokens, propositions)
