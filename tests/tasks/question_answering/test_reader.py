import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.tasks.question_answering.reader import Answer, Passage, Question, read_questions

CONTEXT = "The “Broncos” won 24–10.\u200b"


def entry(answer: str, start: int, *, id: str = "q1", question: str = "Who won?") -> dict[str, object]:
    return {"id": id, "question": question, "answers": [{"text": answer, "answer_start": start}]}


def squad(*questions: dict[str, object], context: str = CONTEXT) -> str:
    paragraph = {"context": context, "qas": list(questions)}
    return json.dumps({"version": "1.1", "data": [{"title": "x", "paragraphs": [paragraph]}]})


def flat(answer: str, start: int, **fields: object) -> str:
    """A line as Hugging Face's datasets write it."""
    answers = {"text": [answer], "answer_start": [start]}
    return json.dumps(
        {"id": "q1", "title": "x", "context": CONTEXT, "question": "Who won?", "answers": answers} | fields
    )


def read(path: Path) -> list[Question]:
    return list(read_questions(path))


def test_reads_questions_and_finds_their_answers(write):
    (question,) = read(write(squad(entry("Broncos", 5))))
    assert (question.id, question.tokens) == ("q1", ["Who", "won", "?"])
    assert question.passage.tokens == ["The", '"', "Broncos", '"', "won", "24-10", "."]
    assert question.answers == [Answer("Broncos", 5, (2, 2))]
    assert question.passage.span_text(1, 4) == "“Broncos” won"


def test_json_lines_of_questions_are_read_as_squad(write):
    entries = [entry("Broncos", 5), entry("won", 14, id="2")]
    lines = [flat("Broncos", 5), "", flat("won", 14, id=2)]  # ids may be numbers
    assert read(write("\n".join(lines))) == read(write(squad(*entries)))
    first, second = read(write("\n".join(lines)))
    assert first.passage is second.passage and first.article == "x"
    untitled = [line.replace('"title": "x", ', "") for line in (*lines, flat("It", 0, id="3", context="It did."))]
    assert [question.article == CONTEXT for question in read(write("\n".join(untitled)))] == [True, True, False]


@pytest.mark.parametrize("start", [13, 24, 99])
def test_an_answer_that_is_not_at_its_offset_counts_but_has_no_span(write, start: int):
    answers = [{"text": "won", "answer_start": start}, {"text": "won", "answer_start": 14}]
    (question,) = read(write(squad({"id": "q", "question": "Who?", "answers": answers})))
    assert question.answers == [Answer("won", start, None, is_misplaced=True), Answer("won", 14, (4, 4))]


def test_answers_that_are_no_tokens_are_widened_or_have_no_span(write):
    questions = read(
        write(squad(entry("ronc", 6), entry("24", 18, id="2"), entry("\u200b", 24, id="3"), entry(" won ", 13, id="4")))
    )
    assert [question.answers[0].span for question in questions] == [(2, 2), (5, 5), None, (4, 4)]


WORD = st.sampled_from(["Ann", "Mr.", "“why”", "it's", "–", "50%", "밥", "cafe\u0301", "…", "!!!!!!"])


@given(st.lists(WORD, min_size=1, max_size=8), st.data())
def test_every_span_of_tokens_is_found_again_from_its_characters(words: list[str], data: st.DataObject):
    passage = Passage.of(" ".join(words))
    first = data.draw(st.integers(0, len(passage.tokens) - 1))
    last = data.draw(st.integers(first, len(passage.tokens) - 1))
    start, end = passage.offsets[first][0], passage.offsets[last][1]
    assert passage.covering_tokens(start, end) == (first, last)
    assert passage.text[start:end] == passage.span_text(first, last)
    assert all(passage.covering_tokens(end, after) is None for end, after in _gaps(passage))


def _gaps(passage: Passage) -> list[tuple[int, int]]:
    """White space between tokens."""
    pairs = zip(passage.offsets, passage.offsets[1:], strict=False)
    return [(end, start) for (_, end), (start, _) in pairs if end < start]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [', "data: is not valid JSON: .* at character 11"),
        ('{\n"data": [}\n', "data: is not valid JSON: Expecting value at line 2, character 10, near '}'"),
        ('{"data": [{"paragraphs": [7]}]}', "field data\\[0\\].paragraphs\\[0\\]: is a number; expected an object"),
        ('{"data": []}', "data has no questions"),
        (squad({"id": "q7"}), "field data\\[0\\].paragraphs\\[0\\].qas\\[0\\].question: is missing; there are id"),
        (squad(entry("won", 14), context=" "), "data\\[0\\].paragraphs\\[0\\].context: ' ' has no tokens"),
        (squad(entry("won", 14, question="")), "qas\\[0\\].question: '', of question 'q1', has no tokens"),
        (squad({"id": "q", "question": "Who?", "answers": []}), "answers: question 'q' has none; SQuAD 2.0"),
        (squad(entry("won", -3)), "answers\\[0\\].answer_start: is -3; expected 0 to"),
        (squad(entry("", 3)), "answers\\[0\\].text: is empty; expected a part of the context"),
        (squad(entry("won", 14) | {"is_impossible": True}), "qas\\[0\\].is_impossible: is true; SQuAD 2.0"),
        ('{"id": "q", "context": "a", "question": "b"}', "data, line 1: field answers: is missing"),
        (flat("won", 14).replace("[14]", "[]"), "line 1: field answers.text: has 1 answers, but answer_start 0"),
        (flat("won", 14).replace("[14]", '["14"]'), "answers\\[0\\].answer_start: is text"),
        (squad(entry("won", 14), entry("won", 14)), "data: two questions have the id 'q1'"),
    ],
)
def test_refuses(write, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(write(text))
