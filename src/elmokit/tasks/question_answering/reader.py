"""Questions about passages, with answers that stand in the passage: SQuAD 1.1."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.text.alignment import token_offsets
from elmokit.text.corpora.json_values import member, object_members, parse_object
from elmokit.text.lines import read_lines
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, its tokens, and where in the text each of them begins and ends (the character after its last)."""

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> Passage:
        tokens = tokenize(text)
        return cls(text, tokens, token_offsets(text, tokens))

    def span_text(self, first: int, last: int) -> str:
        """The text from one token to another, both included, as it stands in the passage."""
        return self.text[self.offsets[first][0] : self.offsets[last][1]]

    def covering_tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """First and last token with any of the characters from `start` up to `end`; None if there is no such token."""
        first = bisect_right(self.offsets, start, key=lambda offset: offset[1])
        last = bisect_left(self.offsets, end, key=lambda offset: offset[0]) - 1
        return (first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class Answer:
    """A text that stands in the passage at the character `start`."""

    text: str
    start: int
    span: tuple[int, int] | None
    """First and last of the tokens that cover it; None where no token does, so that nothing can learn it."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the answers of several people, at least one; questions about one passage share it."""

    id: str
    tokens: list[str]
    passage: Passage
    answers: list[Answer]


@dataclass(frozen=True)
class AnswerCounts:
    """How well answers, which are characters, can be given as tokens; `+` joins files."""

    num_exact: int = 0
    """The tokens are the answer, apart from white space around it."""
    num_widened: int = 0
    """The answer begins or ends within a token: the tokens hold more than it."""
    num_unmapped: int = 0
    """No token has anything of it."""

    @classmethod
    def of(cls, questions: Iterable[Question]) -> AnswerCounts:
        exact = widened = unmapped = 0
        for question in questions:
            for answer in question.answers:
                if answer.span is None:
                    unmapped += 1
                elif question.passage.span_text(*answer.span) == answer.text.strip():
                    exact += 1
                else:
                    widened += 1
        return cls(exact, widened, unmapped)

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        return AnswerCounts(
            num_exact=self.num_exact + other.num_exact,
            num_widened=self.num_widened + other.num_widened,
            num_unmapped=self.num_unmapped + other.num_unmapped,
        )

    def __str__(self) -> str:
        return (
            f"{self.num_exact + self.num_widened + self.num_unmapped:,} answers: {self.num_exact:,} are whole tokens, "
            f"{self.num_widened:,} begin or end within one, {self.num_unmapped:,} are in no token"
        )


def read_questions(path: str | os.PathLike[str], *, articles: slice = slice(None)) -> Iterator[Question]:
    """Questions in the file's order. A JSON file is one value, so it is in memory as a whole; passages are not.

    articles: which of the file's articles are read; the others are not looked at.

    Raises ValueError, with the file and the article, passage or question, for bad JSON, missing fields, questions
    without an answer, tokens or an id of their own, answers that do not stand where they should, and no questions.
    """
    name = os.fspath(path)
    seen: set[str] = set()
    content = parse_object("\n".join(read_lines(path)), place=name)
    every_article = list(enumerate(object_members(content, "data", place=name)))
    for article_index, article in every_article[articles]:
        place = f"{name}, data[{article_index}]"
        for index, paragraph in enumerate(object_members(article, "paragraphs", place=place)):
            for question in _questions(paragraph, place=f"{place}.paragraphs[{index}]"):
                if question.id in seen:
                    raise ValueError(f"{name}: two questions have the id {question.id!r}")
                seen.add(question.id)
                yield question
    if not seen:
        raise ValueError(f"{name} has no questions")


def _questions(paragraph: dict[str, object], *, place: str) -> Iterator[Question]:
    passage = Passage.of(member(paragraph, "context", str, place=place))
    if not passage.tokens:
        raise ValueError(f"{place}: the context {passage.text[:40]!r} has no tokens")
    for index, entry in enumerate(object_members(paragraph, "qas", place=place)):
        identity = member(entry, "id", str, place=f"{place}.qas[{index}]")
        where = f"{place}.qas[{index}], question {identity!r}"
        text = member(entry, "question", str, place=where)
        tokens = tokenize(text)
        if not tokens:
            raise ValueError(f"{where}: the question {text!r} has no tokens")
        answers = object_members(entry, "answers", place=where)
        if not answers:
            raise ValueError(f"{where} has no answers; SQuAD 2.0's questions without any are not supported")
        yield Question(identity, tokens, passage, [_answer(answer, passage, place=where) for answer in answers])


def _answer(entry: dict[str, object], passage: Passage, *, place: str) -> Answer:
    text = member(entry, "text", str, place=place)
    start = member(entry, "answer_start", int, place=place)
    end = start + len(text)
    if not text or not 0 <= start <= end <= len(passage.text):
        raise ValueError(
            f"{place}: the answer {text[:60]!r} at character {start} is outside of its context of "
            f"{len(passage.text)} characters"
        )
    if passage.text[start:end] != text:
        raise ValueError(
            f"{place}: the answer is {text[:60]!r}, but at character {start} the context has "
            f"{passage.text[start:end][:60]!r}"
        )
    return Answer(text, start, passage.covering_tokens(start, end))
