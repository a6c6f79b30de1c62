"""Reader of questions about passages, with answers that are parts of the passage: SQuAD 1.1, also as JSON lines."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from msgspec import Meta

from elmokit.files.json import json_lines, parse_json, picked
from elmokit.files.lines import MAX_WHOLE_BYTES, lines_and_first, whole
from elmokit.system.messages import first_token, printable
from elmokit.tasks.task import Passage, tokens_of
from elmokit.text.tokenizer import tokenize


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of the passage, which begins at the character `start`."""

    text: str
    start: int
    span: tuple[int, int] | None
    """First and last of the tokens that cover the answer; None if no token does, or it is not at `start`, so that it
    cannot be learnt."""
    is_misplaced: bool = False
    """Whether it is not at `start`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and at least one answer to it by different people. Questions about the same passage share it."""

    id: str
    tokens: list[str]
    passage: Passage
    answers: list[Answer]
    article: str = field(default="", compare=False)
    """Title of the article, or its number in the file if it has none; empty for a question from elsewhere."""


@dataclass(frozen=True)
class FoundAnswer:
    """The most probable answer, as the passage spells it."""

    text: str
    span: tuple[int, int]
    """First and last token of the answer."""
    probability: float
    """Product of the probabilities of the first and of the last token."""


def read_questions(path: str | os.PathLike[str], *, articles: slice = slice(None)) -> Iterator[Question]:
    """Read questions in the file's order, from SQuAD's nested JSON, or JSON lines of questions with their contexts.

    The JSON is in memory as a whole, but tokenised passages are made lazily. JSON lines are as Hugging Face's
    datasets write them: id, title, context, question, and answers with the lists text and answer_start.

    articles: the articles of the file to read; the others are not checked.

    Raises ValueError, with the file and the article, passage or question, for bad JSON, missing fields, questions
    without an answer, without tokens or with a repeated id, and a file without questions.
    """
    name = os.fspath(path)
    seen: set[str] = set()
    some, first = lines_and_first(path, max_line_bytes=MAX_WHOLE_BYTES)
    lines = whole(some, path)
    keys = _keys(first)
    if keys and not keys & {"data", "question"}:
        raise ValueError(
            f"{name} begins with a JSON object of {printable(', '.join(sorted(keys)))}; expected SQuAD's JSON (data), "
            "or JSON lines with context and question in each; MRQA's are not read"
        )
    if keys >= {"context", "question"}:
        found = _articles_of_lines(lines, name)
    else:
        found = picked(parse_json("\n".join(lines), where=name), _File, where=name).data
    for number, article in list(enumerate(found))[articles]:
        where = f"{name}, article {number}"
        of_type = article if isinstance(article, _Article) else picked(article, _Article, where=where)
        for paragraph in of_type.paragraphs:
            for question in _questions(paragraph, article=of_type.title or str(number), where=where):
                if question.id in seen:
                    raise ValueError(f"{name}: two questions have the id {first_token(question.id)}")
                seen.add(question.id)
                yield question
    if not seen:
        raise ValueError(f"{name} has no questions in the articles that are read ({len(found)} in the file)")


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    answer_start: Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class _Question:
    id: str | int
    question: str
    answers: list[_Answer]
    is_impossible: bool = False


@dataclass(frozen=True, slots=True)
class _Paragraph:
    context: str
    qas: list[_Question]


@dataclass(frozen=True, slots=True)
class _Article:
    paragraphs: list[_Paragraph]
    title: str = ""


@dataclass(frozen=True, slots=True)
class _File:
    """SQuAD's JSON; its articles are checked when they are read."""

    data: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Answers:
    text: list[str]
    answer_start: list[Annotated[int, Meta(ge=0)]]


@dataclass(frozen=True, slots=True)
class _Line:
    """A question as Hugging Face's datasets write it."""

    id: str | int
    context: str
    question: str
    answers: _Answers
    title: str | None = None


def _keys(line: str) -> set[str]:
    """The keys of the object in a line; none for another line."""
    try:
        return {*parse_json(line, where="")}
    except ValueError:
        return set()


def _articles_of_lines(lines: Iterable[str], name: str) -> list[_Article]:
    """SQuAD's articles of JSON lines that are a question each; without titles, each passage is an article."""
    articles: dict[str, dict[str, _Paragraph]] = {}
    for where, values in json_lines(lines, name=name):
        if isinstance(values.get("answers"), dict):
            values["answers"] = {key: values["answers"].get(key) for key in ("text", "answer_start")}
        entry = picked(values, _Line, where=where)
        texts, starts = entry.answers.text, entry.answers.answer_start
        if len(texts) != len(starts):
            raise ValueError(f"{where}: field answers.text has {len(texts)} answers, but answer_start {len(starts)}")
        passages = articles.setdefault(entry.context if entry.title is None else entry.title, {})
        paragraph = passages.setdefault(entry.context, _Paragraph(entry.context, []))
        paragraph.qas.append(_Question(entry.id, entry.question, list(map(_Answer, texts, starts))))
    return [_Article(list(passages.values()), title) for title, passages in articles.items()]


def _questions(paragraph: _Paragraph, *, article: str, where: str) -> Iterator[Question]:
    passage = Passage.of(tokenize(paragraph.context), paragraph.context)
    if not passage.tokens:
        raise ValueError(f"{where}: the context {first_token(paragraph.context)} has no tokens")
    for entry in paragraph.qas:
        identity = str(entry.id)
        this = f"{where}, question {first_token(identity)}"
        tokens = tokens_of(entry.question, where=f"{this}: ")
        if entry.is_impossible or not entry.answers:
            raise ValueError(f"{this} has no answers; SQuAD 2.0's questions without answers are not supported")
        if not all(answer.text for answer in entry.answers):
            raise ValueError(f"{this}: an answer is empty; expected a part of the context")
        yield Question(identity, tokens, passage, [_answer(answer, passage) for answer in entry.answers], article)


def _answer(answer: _Answer, passage: Passage) -> Answer:
    start, end = answer.answer_start, answer.answer_start + len(answer.text)
    if passage.text[start:end] != answer.text:
        return Answer(answer.text, start, None, is_misplaced=True)
    return Answer(answer.text, start, _covering_tokens(passage, start, end))


def _covering_tokens(passage: Passage, start: int, end: int) -> tuple[int, int] | None:
    """First and last token that overlap the characters from `start` up to `end` (exclusive); None if none does."""
    first = bisect_right(passage.offsets, start, key=lambda offset: offset[1])
    last = bisect_left(passage.offsets, end, key=lambda offset: offset[0]) - 1
    return (first, last) if first <= last else None
