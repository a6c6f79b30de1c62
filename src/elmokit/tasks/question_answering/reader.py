"""Reader of questions about passages, with answers that are parts of the passage: SQuAD 1.1."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.files.lines import MAX_WHOLE_BYTES, read_lines, whole
from elmokit.system.messages import first_token, plural
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import tokenize


@dataclass(frozen=True, slots=True)
class Passage:
    """A text, its tokens, and the character offsets at which each token begins and ends (the end is exclusive)."""

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]]

    @classmethod
    def of(cls, text: str) -> Passage:
        """Tokenise a text with `tokenize`."""
        tokens = tokenize(text)
        return cls(text, tokens, token_offsets(text, tokens))

    def span_text(self, first: int, last: int) -> str:
        """The text from the first to the last token, both included, as the passage spells it."""
        return self.text[self.offsets[first][0] : self.offsets[last][1]]

    def covering_tokens(self, start: int, end: int) -> tuple[int, int] | None:
        """First and last token that overlap the characters from `start` up to `end` (exclusive); None if none does."""
        first = bisect_right(self.offsets, start, key=lambda offset: offset[1])
        last = bisect_left(self.offsets, end, key=lambda offset: offset[0]) - 1
        return (first, last) if first <= last else None


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of the passage, which begins at the character `start`."""

    text: str
    start: int
    span: tuple[int, int] | None
    """First and last of the tokens that cover the answer; None if no token does, so that it cannot be learnt."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and at least one answer to it by different people. Questions about the same passage share it."""

    id: str
    tokens: list[str]
    passage: Passage
    answers: list[Answer]
    article: str = field(default="", compare=False)
    """Title of the article, or its number in the file if it has none; empty for a question from elsewhere."""


def read_questions(path: str | os.PathLike[str], *, articles: slice = slice(None)) -> Iterator[Question]:
    """Read questions in the file's order. The JSON is in memory as a whole, but tokenised passages are made lazily.

    articles: the articles of the file to read; the others are not checked.

    Raises ValueError, with the file and the article, passage or question, for bad JSON, missing fields, questions
    without an answer, without tokens or with a repeated id, answers that are not at their offset, and a file without
    questions.
    """
    name = os.fspath(path)
    seen: set[str] = set()
    lines = whole(read_lines(path, max_line_bytes=MAX_WHOLE_BYTES), path)
    content = Fields(name, parse_json_object("\n".join(lines), where=name))
    found = list(enumerate(content.list_of_fields("data")))
    for number, article in found[articles]:
        title = article.text("title") if "title" in article else str(number)
        for paragraph in article.list_of_fields("paragraphs"):
            for question in _questions(paragraph, title):
                if question.id in seen:
                    raise ValueError(f"{name}: two questions have the id {first_token(question.id)}")
                seen.add(question.id)
                yield question
    if not seen:
        part = "" if articles == slice(None) else f" among those that are read, {_range(articles)}"
        raise ValueError(f"{name} has no questions in its {plural(len(found), 'article')}{part}")


def _range(articles: slice) -> str:
    return f"{articles.start or 0}:{'' if articles.stop is None else articles.stop}, counted from 0"


def _questions(paragraph: Fields, article: str) -> Iterator[Question]:
    passage = Passage.of(paragraph.text("context"))
    if not passage.tokens:
        raise paragraph.error("context", f"{first_token(passage.text)} has no tokens")
    for entry in paragraph.list_of_fields("qas"):
        identity, text = entry.text("id"), entry.text("question")
        tokens = tokenize(text)
        if not tokens:
            raise entry.error("question", f"{first_token(text)}, of question {first_token(identity)}, has no tokens")
        answers = entry.list_of_fields("answers")
        if not answers:
            reason = (
                f"question {first_token(identity)} has none; SQuAD 2.0's questions without answers are not supported"
            )
            raise entry.error("answers", reason)
        found = [_answer(answer, passage, question=identity) for answer in answers]
        yield Question(identity, tokens, passage, found, article)


def _answer(entry: Fields, passage: Passage, *, question: str) -> Answer:
    text, start = entry.text("text"), entry.integer("answer_start")
    end = start + len(text)
    if not text or end > len(passage.text):
        where = f"character {start}, outside of its context of {len(passage.text)} characters"
        raise entry.error("text", f"is {first_token(text)}, at {where} (question {first_token(question)})")
    if passage.text[start:end] != text:
        there = f"at character {start} the context has {first_token(passage.text[start:end])}"
        raise entry.error("text", f"is {first_token(text)}, but {there} (question {first_token(question)})")
    return Answer(text, start, passage.covering_tokens(start, end))
