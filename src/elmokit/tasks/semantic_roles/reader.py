"""Reader of sentences with the roles of their predicates, from the columns of CoNLL-2012 and CoNLL-2005."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from elmokit.files.lines import lines_and_first
from elmokit.metrics.roles import tags_from_props
from elmokit.system.messages import first_token
from elmokit.text.corpora import conll2012
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.columns import ColumnSentence, column_sentences, with_words_first, without_documents

_NONE = "-"


@dataclass(frozen=True, slots=True)
class Lemma:
    """The lemma of a predicate, and the token in whose row it is written."""

    token: int
    text: str


@dataclass(frozen=True, slots=True)
class PredicateInSentence:
    """An example: the tokens of a sentence, one of its predicates, and the roles to be found."""

    tokens: list[str]
    predicate: int | None
    """Index of the token at which V begins; None if the column has no V, as some of OntoNotes: nothing is predicted."""
    tags: list[str]
    """BIO tags of the predicate's roles, including V; empty if they are unknown, and without a predicate."""
    lemma: Lemma | None = None
    """As its file gives it; None if the file does not give one lemma for each column of roles."""
    sentence: int | None = None
    """Number of the sentence in its file, which its predicates share; None for a sentence from elsewhere."""
    text: str | None = field(default=None, compare=False)
    """The text that the tokens are from, without asterisks; None if only the tokens are known."""
    document: str = field(default="", compare=False)
    """File and name of its document; empty in CoNLL-2005, which has none."""
    fault: str = field(default="", compare=False)
    """Why the roles of the predicate cannot be used; it has no tags then."""


def read_predicates(path: str | os.PathLike[str]) -> Iterator[PredicateInSentence]:
    """Read an example for each predicate, and one without tags for a sentence that has none.

    The file is CoNLL-2012 if the first line that is not blank is `#begin document`, otherwise CoNLL-2005.
    The columns of CoNLL-2005 are separate files, to be pasted together: words first, props last (the lemma of each
    predicate or `-`, and a column of brackets per predicate), with any columns between. Tokens become plain
    (`plain_token`).
    OntoNotes has some predicates whose brackets nest or overlap: their examples say so (`fault`).
    Raises ValueError, with the file and the lines, for rows of different lengths, cells without brackets, more or fewer
    columns than predicates, a first column of CoNLL-2005 that numbers the words, and a file without sentences. Warns if
    a tenth of the sentences are very long.
    """
    name = os.fspath(path)
    lines, first = lines_and_first(path)
    read = _conll2012(lines, name) if first.startswith(conll2012.BEGIN) else _conll2005(lines, name)
    sentences = without_documents(read, lambda sentence: [sentence[0].tokens], name=name, expected="predicates")
    for number, sentence in enumerate(sentences):
        yield from (replace(example, sentence=number) for example in sentence)


def _conll2012(lines: Iterable[str], name: str) -> Iterator[list[PredicateInSentence]]:
    for document in conll2012.read_conll2012(lines, name=name):
        for sentence in document.sentences:
            tokens, props = conll2012.plain_tokens(sentence), conll2012.role_columns(sentence)
            lemmas = conll2012.predicate_lemmas(sentence)
            yield _predicates(sentence, tokens, props, lemmas=lemmas, document=f"{name} {document.name}")


def _conll2005(lines: Iterable[str], name: str) -> Iterator[list[PredicateInSentence]]:
    num_predicates = 0
    for sentence in with_words_first(column_sentences(lines, name=name)):
        lemmas, props = _props(sentence)
        num_predicates += len(props)
        yield _predicates(sentence, [plain_token(word) for word in sentence.column(0)], props, lemmas=lemmas)
    if not num_predicates:
        raise ValueError(
            f"{name} has no predicate; expected the columns of CoNLL-2005, or those of CoNLL-2012 after a line "
            f"'{conll2012.BEGIN} (NAME); part 000'"
        )


def _props(sentence: ColumnSentence) -> tuple[list[tuple[int, str]], list[list[str]]]:
    """Row and lemma of each predicate, and the columns of brackets.

    The column of lemmas is the last one that has a cell without `*`; the columns of brackets come after it.
    """
    columns = [sentence.column(index) for index in range(sentence.num_columns)]
    last = next((index for index in reversed(range(1, len(columns))) if any("*" not in c for c in columns[index])), 0)
    if last == 0:
        raise ValueError(f"{sentence.line(0)}: {first_token(' '.join(sentence.rows[0]))} has no column of predicates")
    lemmas = [(row, cell) for row, cell in enumerate(columns[last]) if cell != _NONE]
    props = columns[last + 1 :]
    if len(lemmas) != len(props):
        expected = "expected one column per predicate, of brackets such as (A0* *) (V*); BIO tags are not read"
        raise ValueError(
            f"{sentence.where}: {len(lemmas)} predicates in column {last + 1}, but {len(props)} columns of "
            f"roles after it; {expected}"
        )
    return lemmas, props


def _predicates(
    sentence: ColumnSentence,
    tokens: list[str],
    columns: list[list[str]],
    *,
    lemmas: list[tuple[int, str]],
    document: str = "",
) -> list[PredicateInSentence]:
    predicates: list[PredicateInSentence] = []
    of_columns = [Lemma(*lemma) for lemma in lemmas] if len(lemmas) == len(columns) else [None] * len(columns)
    for number, (column, lemma) in enumerate(zip(columns, of_columns, strict=True), start=1):
        starts: list[int] = []
        fault = ""
        try:
            tags = tags_from_props(column)
            starts = [position for position, tag in enumerate(tags) if tag == "B-V"]
        except ValueError as error:
            if not all("*" in cell for cell in column):
                raise ValueError(f"{sentence.where}, predicate {number}, {error}") from None
            tags, fault = [], "predicates whose roles nest, overlap or have no end"
        if len(starts) > 1:
            fault = "predicates with more than one V"
        elif starts and starts[0] in [before.predicate for before in predicates]:
            fault = "predicates whose V is that of another predicate"
        if fault:
            predicates.append(PredicateInSentence(tokens, None, [], document=document, fault=fault))
        else:
            predicate = starts[0] if starts else None
            predicates.append(PredicateInSentence(tokens, predicate, tags, lemma, document=document))
    return predicates or [PredicateInSentence(tokens, None, [])]
