"""Reader of questions about passages, with answers that are parts of the passage: SQuAD 1.1, also as JSON lines."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.files.lines import MAX_WHOLE_BYTES, lines_and_first, whole
from elmokit.system.messages import first_token, printable
from elmokit.tasks.text_spans import Passage
from elmokit.text.corpora.cells import json_lines
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


def read_questions(path: str | os.PathLike[str], *, articles: slice = slice(None)) -> Iterator[Question]:
    """Read questions in the file's order, from SQuAD's nested JSON, or JSON lines of questions with their contexts.

    The JSON is in memory as a whole, but tokenised passages are made lazily. JSON lines are those that Hugging Face's
    datasets write: id, title, context, question, and answers with the lists text and answer_start.

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
    is_lines = keys >= {"context", "question"}
    parsed = {"data": _nested(lines, name)} if is_lines else parse_json_object("\n".join(lines), where=name)
    content = Fields(name, parsed)
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
        raise ValueError(f"{name} has no questions in the articles that are read ({len(found)} in the file)")


def identity_of(question: Fields) -> str:
    """The id of a question, which may be a whole number."""
    return str(question.value("id")) if isinstance(question.value("id"), int) else question.text("id")


def _keys(line: str) -> set[str]:
    """The keys of the object in a line; none for another line."""
    try:
        return {*parse_json_object(line, where="")}
    except ValueError:
        return set()


def _questions(paragraph: Fields, article: str) -> Iterator[Question]:
    context = paragraph.text("context")
    passage = Passage.of(tokenize(context), context)
    if not passage.tokens:
        raise paragraph.error("context", f"{first_token(context)} has no tokens")
    for entry in paragraph.list_of_fields("qas"):
        if "is_impossible" in entry and entry.read("is_impossible", bool):
            raise entry.error("is_impossible", "is true; SQuAD 2.0's questions without answers are not supported")
        identity = identity_of(entry)
        text = entry.text("question")
        tokens = tokenize(text)
        if not tokens:
            raise entry.error("question", f"{first_token(text)}, of question {first_token(identity)}, has no tokens")
        answers = entry.list_of_fields("answers")
        if not answers:
            reason = "has none; SQuAD 2.0's questions without answers are not supported"
            raise entry.error("answers", f"question {first_token(identity)} {reason}")
        found = [_answer(answer, passage) for answer in answers]
        yield Question(identity, tokens, passage, found, article)


def _answer(entry: Fields, passage: Passage) -> Answer:
    text, start = entry.text("text"), entry.integer("answer_start")
    if not text:
        raise entry.error("text", "is empty; expected a part of the context")
    end = start + len(text)
    if passage.text[start:end] != text:
        return Answer(text, start, None, is_misplaced=True)
    return Answer(text, start, _covering_tokens(passage, start, end))


def _covering_tokens(passage: Passage, start: int, end: int) -> tuple[int, int] | None:
    """First and last token that overlap the characters from `start` up to `end` (exclusive); None if none does."""
    first = bisect_right(passage.offsets, start, key=lambda offset: offset[1])
    last = bisect_left(passage.offsets, end, key=lambda offset: offset[0]) - 1
    return (first, last) if first <= last else None


def _nested(lines: Iterable[str], name: str) -> list[dict[str, object]]:
    """SQuAD's articles of JSON lines that are a question each; without titles, each passage is an article."""
    articles: dict[str, dict[str, list[dict[str, object]]]] = {}
    for entry in json_lines(lines, name=name):
        answers = entry.fields("answers")
        texts, starts = answers.read("text", list[object]), answers.read("answer_start", list[object])
        if len(texts) != len(starts):
            raise answers.error("text", f"has {len(texts)} answers, but answer_start {len(starts)}")
        passages = articles.setdefault(entry.text("title" if "title" in entry else "context"), {})
        passages.setdefault(entry.text("context"), []).append(
            {
                "id": entry.value("id"),
                "question": entry.value("question"),
                "answers": [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)],
            }
        )
    return [
        {"title": title, "paragraphs": [{"context": context, "qas": entries} for context, entries in passages.items()]}
        for title, passages in articles.items()
    ]
