"""The question-answering task: an example is a question about a passage, from SQuAD 1.1 or its JSON lines.

Scores are SQuAD's; output is text.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from elmokit.files.json import json_lines, parse_json, picked
from elmokit.files.lines import MAX_WHOLE_BYTES, lines_and_first, whole
from elmokit.metrics.answers import score_answers
from elmokit.runs.settings import check_bounds
from elmokit.system.messages import first_token, printable
from elmokit.tasks.config import (
    ElmoInput,
    FileNames,
    InputConfig,
    Recipes,
    TaskConfig,
    TrainingConfig,
    until_converged,
    variant,
)
from elmokit.tasks.task import Passage, Prediction, Reading, Task, shortened, tokens_of
from elmokit.text.tokenizer import tokenize

_ARTICLES = re.compile(r"(?P<file>.+)#(?P<first>\d{,9}):(?P<end>\d{,9})")


@dataclass(frozen=True, slots=True)
class Answer:
    """A part of the passage that begins at the character `start`."""

    text: str
    start: int
    span: tuple[int, int] | None
    """First and last of the tokens that cover the answer. If no token does, or the answer is not at `start`, this is
    None, and the answer cannot be learnt."""
    is_misplaced: bool = False
    """Whether the passage has another text at `start`."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the answers of one or more people. Questions about the same passage share it."""

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

    The whole JSON is in memory, but passages are tokenised lazily. JSON lines are as Hugging Face's datasets write
    them: id, title, context, question, and answers with the lists text and answer_start.

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
            "or JSON lines with context and question in each; the format of MRQA is not supported"
        )
    if keys >= {"context", "question"}:
        found = _articles_of_lines(lines, name)
    else:
        found = picked(parse_json("\n".join(lines), where=name), _File, where=name).data
    for number, article in list(enumerate(found))[articles]:
        where = f"{name}, article {number}"
        of_type = article if isinstance(article, _Article) else picked(article, _Article, where=where)
        for paragraph in of_type.paragraphs:
            for question in _of_paragraph(paragraph, article=of_type.title or str(number), where=where):
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
    """The keys of the JSON object in a line; empty for any other line."""
    try:
        return {*parse_json(line, where="")}
    except ValueError:
        return set()


def _articles_of_lines(lines: Iterable[str], name: str) -> list[_Article]:
    """Group JSON lines of one question each into SQuAD's articles. Without titles, each passage is an article."""
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


def _of_paragraph(paragraph: _Paragraph, *, article: str, where: str) -> Iterator[Question]:
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


# Settings and recipes of the answer finder. O is Clark and Gardner's code (document-qa), with its script for ELMo.


@dataclass(frozen=True)
class QuestionAnsweringConfig:
    """Sizes of the network, and limits of its passages and answers, by default as in O without ELMo."""

    hidden_dim: int = 100
    """Width of every biGRU, per direction; the dense layers are twice as wide."""
    dropout_rate: float = 0.2
    """Dropout before and after the biGRUs. It drops the same features at all tokens of a text."""
    max_answer_tokens: int = 17
    """Largest number of tokens in a predicted answer."""
    max_train_tokens: int = 0
    """Training passages are cut after this many tokens, and questions that lose their answer are skipped; 0 cuts
    nothing. Passages are never cut for evaluation."""

    def __post_init__(self) -> None:
        check_bounds(
            self, positive=("hidden_dim", "max_answer_tokens"), counts=("max_train_tokens",), rates=("dropout_rate",)
        )


def paper() -> TaskConfig:
    """BiDAF with self-attention; give GloVe's 300-d vectors (840B)."""
    return TaskConfig(
        model=QuestionAnsweringConfig(hidden_dim=90),  # O with ELMo; O has 100 without ELMo, here it is 90 too
        inputs=InputConfig(
            word_dim=300,  # O
            train_word_vectors=False,  # O
            lower_case=False,  # O, which falls back to lower case
            character_dim=20,  # O
            character_filters=((5, 100),),  # O, without its dropout on the characters
            max_characters=16,  # O: 14 letters, and a token's two boundaries
            elmo=ElmoInput(
                position="both",  # Peters et al. (2018), appendix
                dropout_rate=0.5,  # O
                penalty=0.0,  # O
            ),
        ),
        training=TrainingConfig(
            optimizer="adadelta",  # O
            adadelta_epsilon=1e-8,  # O
            learning_rate=1.0,  # O
            batch_size=45,  # O
            max_epochs=24,  # O with ELMo; 26 without
            patience=24,
            average_decay=0.999,  # O
            average_warm_up=False,  # O
        ),
    )


def cpu() -> TaskConfig:
    """Trains in a quarter of an hour on one core: half the width, Adam, a subset of the questions, passages cut.

    In so few steps, dropout does more harm than good. Without ELMo, F1 after three epochs of 5,000 questions is 25.5 at
    a rate of 0.2, 32.0 at 0.1 and 35.2 at 0 (experiments/LOG.md). The dropout of ELMo's vectors stays as in O.
    """
    return variant(
        paper(),
        model={"hidden_dim": 48, "dropout_rate": 0.05, "max_train_tokens": 150},
        inputs={"word_dim": 50, "lower_case": True, "min_word_count": 2},
        elmo={"rescale": True},
        training={
            "optimizer": "adam",
            "adadelta_epsilon": 1e-6,
            "average_warm_up": True,
            "learning_rate": 0.004,
            "batch_size": 32,
            "max_epochs": 6,
            "patience": 6,
            "clip_norm": 5.0,
            "max_train_examples": 10_000,
            "max_dev_examples": 500,
            "spread_dev": True,
        },
    )


def cpu_converged() -> TaskConfig:
    """`cpu`, trained until the score on the development set stops improving.

    The development set is about every seventh article instead of the first four; the 500 questions are from all of it.
    """
    return variant(until_converged(cpu), training={"dev_share": 0.15})


@dataclass(frozen=True, repr=False)
class QuestionAnswer(Prediction):
    """A question with the most probable answer."""

    id: str
    """The question's id; empty if it has none."""
    question: list[str]
    """Tokens of the question."""
    answer: str
    """As the passage spells it: `passage[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token in the passage, both part of the answer."""
    start: int
    end: int
    """Offsets of characters in the passage; `start` is SQuAD's `answer_start`, and `end` is exclusive."""
    probability: float
    """Product of the probabilities of the first and of the last token."""

    def __repr__(self) -> str:
        asked = shortened(" ".join(self.question))
        return f"<QuestionAnswer {asked}: {self.answer!r} {self.start}:{self.end} ({self.probability:.1%})>"


def squad_predictions(answers: Iterable[tuple[Question, FoundAnswer]]) -> Iterator[str]:
    """One JSON object of answers by question id. SQuAD's own script scores it."""
    by_id: dict[str, str] = {}
    for question, answer in answers:
        if not question.id:
            raise ValueError(f"the question {first_token(' '.join(question.tokens))} has no id; SQuAD's file needs one")
        by_id[question.id] = answer.text
    yield json.dumps(by_id, ensure_ascii=False)


class QuestionAnswering(Task[Question, FoundAnswer]):
    """A question and a passage -> a span of the passage; an example is a question."""

    name = "question-answering"
    metric = "f1"
    # The user's own split; SQuAD 1.1; a subset of it; KorQuAD 1.0. SQuAD's and KorQuAD's test sets are not public, so
    # the development set serves as test set, and the first articles of the training set as development set.
    # `train-v1.1.json#4:` means that file from its fifth article on (see `read`)
    files: ClassVar[FileNames] = (
        ("train.json", "dev.json", "test.json"),
        ("train-v1.1.json#4:", "train-v1.1.json#:4", "dev-v1.1.json"),
        ("train-subset.json#4:", "train-subset.json#:4", "dev-v1.1.json"),
        ("KorQuAD_v1.0_train.json#20:", "KorQuAD_v1.0_train.json#:20", "KorQuAD_v1.0_dev.json"),
    )
    model_config = QuestionAnsweringConfig
    model = "elmokit.tasks.question_answering.model:AnswerFinder"
    recipes: ClassVar[Recipes] = {"paper": paper, "cpu": cpu, "cpu-converged": cpu_converged}
    text_fields: ClassVar[tuple[str, ...]] = ("question", "context")
    other_forms: ClassVar[Mapping[str, Any]] = {"squad": squad_predictions}

    def read(self, path: Path, config: QuestionAnsweringConfig, training: bool) -> Reading[Question]:
        """Read a file, or some of its articles: `FILE#FIRST:END`, counted from 0, END exclusive, both optional.

        For training, passages are cut to the config's `max_train_tokens`. Training skips a question if the cut passage
        does not have its answer, if no token covers the answer, or if the answer is not at its offset.
        """
        reading = Reading[Question]([])
        for question in _questions(path):
            if not training:
                reading.examples.append(question)
            elif all(answer.is_misplaced for answer in question.answers):
                reading.skipped["questions with an answer that is not at its answer_start"] += 1
            elif all(answer.span is None for answer in question.answers):
                reading.skipped["questions with an answer that no token covers"] += 1
            elif (shorter := _cut(question, config.max_train_tokens, before=reading.examples)) is None:
                reading.skipped[f"questions with an answer beyond the first {config.max_train_tokens} tokens"] += 1
            else:
                reading.examples.append(shorter)
        return reading

    def sentences(self, example: Question) -> Sequence[Sequence[str]]:
        return example.passage.tokens, example.tokens

    def keep_together(self, example: Question) -> str:
        return example.article

    def symbols(self, examples: Iterable[Question]) -> list[str]:
        return []

    def score(self, examples: Sequence[Question], predictions: Sequence[FoundAnswer]) -> dict[str, float]:
        """F1 and exact match, as the official script computes them."""
        gold = [[answer.text for answer in question.answers] for question in examples]
        return score_answers(gold=gold, predicted=[answer.text for answer in predictions])

    def from_json(self, fields: Mapping[str, Any]) -> Question:
        """Read `{"question": "Who won?", "context": "The Broncos won."}`; if it has an `id`, the output has it too."""
        given = picked(fields, _Asked, where="the question")
        tokens = tokens_of(given.question, where="the question ")
        passage = Passage.of(tokens_of(given.context, where="the context "), given.context)
        return Question(str(given.id), tokens, passage, [])

    def to_text(self, predictions: Iterable[tuple[Question, FoundAnswer]]) -> Iterator[str]:
        """The answer on one line, after the question's id and a tab if it has an id. White space becomes a space."""
        for example, found in predictions:
            answer = " ".join(found.text.split())
            yield f"{' '.join(example.id.split())}\t{answer}" if example.id else answer

    def result(self, example: Question, prediction: FoundAnswer) -> QuestionAnswer:
        found = example.passage.span(*prediction.span)
        places = (found.first, found.last, found.start, found.end)
        return QuestionAnswer(example.id, example.tokens, found.text, *places, prediction.probability)


@dataclass(frozen=True)
class _Asked:
    question: str
    context: str
    id: str | int = ""


def _questions(path: Path) -> Iterable[Question]:
    parts = _ARTICLES.fullmatch(path.name)
    if parts is None or path.is_file():
        return read_questions(path)
    first, end = (int(number) if number else None for number in parts.group("first", "end"))
    return read_questions(path.with_name(parts["file"]), articles=slice(first, end))


def _cut(question: Question, max_tokens: int, *, before: list[Question]) -> Question | None:
    """Cut a question's passage to its first tokens, and keep the answers in them. Returns None if no answer is left.

    before: the examples so far, so that questions about the same passage still share it.
    """
    passage = question.passage
    if max_tokens == 0 or len(passage.tokens) <= max_tokens:
        return question
    answers = [answer for answer in question.answers if answer.span and answer.span[1] < max_tokens]
    if before and before[-1].passage.text is passage.text:
        passage = before[-1].passage
    else:
        passage = replace(passage, tokens=passage.tokens[:max_tokens], offsets=passage.offsets[:max_tokens])
    return replace(question, passage=passage, answers=answers) if answers else None


TASK = QuestionAnswering()
