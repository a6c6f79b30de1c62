from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmokit.tasks.question_answering.model import FoundAnswer
from elmokit.tasks.question_answering.reader import Answer, Passage, Question
from elmokit.tasks.question_answering.recipes import QuestionAnsweringConfig
from elmokit.tasks.question_answering.task import TASK

CONFIG = QuestionAnsweringConfig()


def article(number: int) -> dict[str, object]:
    """Two questions about one passage."""
    context = f"Ann ate {number} apples in Seoul."
    entries = [("How many?", f"{number} apples", 8), ("Where?", "Seoul", context.index("Seoul"))]
    questions = [
        {"id": f"{number}{place}", "question": text, "answers": [{"text": answer, "answer_start": start}]}
        for place, (text, answer, start) in zip("ab", entries, strict=True)
    ]
    return {"title": "x", "paragraphs": [{"context": context, "qas": questions}]}


@pytest.fixture
def squad(tmp_path: Path) -> Path:
    """Six articles."""
    path = tmp_path / "train-v1.1.json"
    path.write_text(json.dumps({"data": [article(number) for number in range(6)]}))
    return path


def ids(path: Path) -> list[str]:
    return [question.id for question in TASK.read(path, CONFIG, False).examples]


def test_reads_some_articles_of_a_file(squad: Path):
    assert ids(squad.with_name("train-v1.1.json#1:2")) == ["1a", "1b"]
    assert ids(squad.with_name("train-v1.1.json#5:")) == ["5a", "5b"]
    for articles, bounds in (("7:", "7:"), (":0", "0:0")):
        with pytest.raises(ValueError, match=rf"train-v1.1.json has no questions .* read, {bounds}, counted from 0"):
            ids(squad.with_name(f"train-v1.1.json#{articles}"))
    named_so = squad.rename(squad.with_name("x#1:2"))
    assert len(ids(named_so)) == 12


def test_cuts_passages_to_train_on(squad: Path):
    reading = TASK.read(squad, QuestionAnsweringConfig(max_train_tokens=4), True)
    assert [question.id for question in reading.examples] == ["0a", "1a", "2a", "3a", "4a", "5a"]
    assert reading.skipped == {"questions with an answer beyond the first 4 tokens": 6}
    assert reading.examples[1].passage.tokens == ["Ann", "ate", "1", "apples"]
    assert TASK.sentences(reading.examples[1]) == [["Ann", "ate", "1", "apples"], ["How", "many", "?"]]
    assert not TASK.read(squad, QuestionAnsweringConfig(max_train_tokens=3), True).examples
    longer = TASK.read(squad, QuestionAnsweringConfig(max_train_tokens=6), True).examples
    assert [question.passage.tokens[-1] for question in longer] == ["Seoul"] * 12
    assert longer[0].passage is longer[1].passage
    assert longer[1].passage is not longer[2].passage
    assert len(TASK.read(squad, QuestionAnsweringConfig(max_train_tokens=4), False).examples) == 12


def test_skips_a_few_questions_whose_answer_is_not_at_its_offset_and_refuses_many(squad: Path):
    squad.write_text(squad.read_text().replace('"answer_start": 8', '"answer_start": 9', 1))
    assert TASK.read(squad, CONFIG, True).skipped == {"questions whose answer is not at its answer_start": 1}
    assert len(TASK.read(squad, CONFIG, False).examples) == 12
    squad.write_text(squad.read_text().replace('"answer_start": 8', '"answer_start": 9', 1))
    for training in (True, False):
        with pytest.raises(
            ValueError, match=r"train-v1.1.json: 2 of 12 answers are not in the context at their answer_s"
        ):
            TASK.read(squad, CONFIG, training)


def test_counts_the_questions_whose_answer_no_token_covers_and_still_scores_them(write):
    entry = {"id": "q", "question": "Who?", "answers": [{"text": "\u200b", "answer_start": 3}]}
    path = write(json.dumps({"data": [{"paragraphs": [{"context": "Ann\u200b.", "qas": [entry]}]}]}))
    assert TASK.read(path, CONFIG, True).skipped == {"questions whose answer no token covers": 1}
    reading = TASK.read(path, CONFIG, False)
    assert len(reading.examples) == 1
    assert not reading.skipped
    assert TASK.score(reading.examples, [FoundAnswer("Ann", (0, 0), 1.0)]) == {"f1": 0.0, "exact_match": 0.0}


def test_scores_as_the_official_script(squad: Path):
    questions = TASK.read(squad, CONFIG, False).examples[:4]
    made = [FoundAnswer(text, (0, 0), 1.0) for text in ("0 apples", "the Seoul.", "1", "Ann")]
    scores = TASK.score(questions, made)
    assert scores["exact_match"] == 50
    assert scores[TASK.metric] == scores["f1"] == pytest.approx(100 * (1 + 1 + 2 / 3 + 0) / 4)


def test_takes_raw_text_and_json():
    expected = Question("", ["Who", "won", "?"], Passage.of("Ann won."), [])
    assert TASK.from_text("Who won?\tAnn won.") == expected
    assert TASK.from_json({"question": "Who won?", "context": "Ann won."}) == expected
    assert TASK.from_json({"question": "Who won?", "context": "Ann won.", "id": "7"}).id == "7"


def test_writes_a_line_and_json():
    asked = Question("7", ["Who"], Passage.of("Then Ann\nLee won."), [Answer("Ann", 5, (1, 1))])
    found = FoundAnswer("Ann\nLee", (1, 2), 0.5)
    assert TASK.to_text(asked, found) == "7\tAnn Lee"
    assert TASK.to_text(Question("", asked.tokens, asked.passage, []), found) == "Ann Lee"
    assert TASK.to_text(Question("a\nb", asked.tokens, asked.passage, []), found) == "a b\tAnn Lee"
    made = TASK.result(asked, found)
    assert made.to_dict() == {
        "id": "7",
        "question": ["Who"],
        "answer": "Ann\nLee",
        "first": 1,
        "last": 2,
        "start": 5,
        "end": 12,
        "probability": 0.5,
    }
    assert asked.passage.text[made.start : made.end] == made.answer
    assert repr(made) == "<QuestionAnswer 'Who': 'Ann\\nLee' 5:12 (50.0%)>"
