"""Questions about passages: read, written, scored and answered."""

import json
from itertools import combinations_with_replacement
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from torch import Tensor

from elmokit.tasks.config import Splits
from elmokit.tasks.data import read_data
from elmokit.tasks.question_answering.model import AnswerFinder, FoundAnswer, best_spans
from elmokit.tasks.question_answering.task import TASK, Answer, Question, QuestionAnsweringConfig, read_questions
from elmokit.tasks.task import task_recipe
from task_examples import LONG, QUESTION_ANSWERING, QUESTIONS, question

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
    assert question.passage.span(1, 4).text == "“Broncos” won"


def test_json_lines_of_questions_are_read_as_squad(write):
    expected = read(write(squad(entry("Broncos", 5), entry("won", 14, id="2"))))
    lines = [flat("Broncos", 5), "", flat("won", 14, id=2)]  # ids may be numbers
    for start in ("{", '{"split": "train", '):
        assert read(write("\n".join(line.replace("{", start, 1) for line in lines))) == expected
    first, second = read(write("\n".join(lines)))
    assert first.passage is second.passage and first.article == "x"
    untitled = [line.replace('"title": "x", ', "") for line in (*lines, flat("It", 0, id="3", context="It did."))]
    assert [question.article == CONTEXT for question in read(write("\n".join(untitled)))] == [True, True, False]


def test_answers_that_are_not_at_their_offset_have_no_span_and_those_that_are_no_tokens_are_widened_or_have_none(write):
    answers = [{"text": "won", "answer_start": start} for start in (13, 24, 99, 14)]
    (question,) = read(write(squad(entry("won", 14) | {"answers": answers})))
    misplaced = [Answer("won", start, None, is_misplaced=True) for start in (13, 24, 99)]
    assert question.answers == [*misplaced, Answer("won", 14, (4, 4))]
    answers = ("ronc", 6), ("24", 18), ("\u200b", 24), (" won ", 13)
    questions = read(write(squad(*(entry(*answer, id=answer[0]) for answer in answers))))
    assert [question.answers[0].span for question in questions] == [(2, 2), (5, 5), None, (4, 4)]


def test_refuses(refusals, snapshot: SnapshotAssertion):
    texts = [
        '{\n"data": [}\n',
        '{"data": []}',
        '{"data": [{"title": "x"}]}',
        '{"header": {"dataset": "x"}}\n{}\n',
        squad(entry("won", 14), context=" "),
        squad(entry("won", 14, question="")),
        squad(entry("won", 14) | {"answers": []}),
        squad(entry("won", -3)),
        squad(entry("", 3)),
        squad(entry("won", 14) | {"is_impossible": True}),
        '{"id": "q", "context": "a", "question": "b"}',
        flat("won", 14).replace("[14]", "[]"),
        squad(entry("won", 14), entry("won", 14)),
    ]
    assert refusals(read_questions, texts) == snapshot


CONFIG = QuestionAnsweringConfig()


def article(number: int) -> dict[str, object]:
    """Two questions about one passage."""
    context = f"Ann ate {number} apples in Seoul."
    first = entry(f"{number} apples", 8, id=f"{number}a", question="How many?")
    second = entry("Seoul", context.index("Seoul"), id=f"{number}b", question="Where?")
    return {"title": f"article {number}", "paragraphs": [{"context": context, "qas": [first, second]}]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Six articles."""
    path = tmp_path / "train-v1.1.json"
    path.write_text(json.dumps({"data": [article(number) for number in range(6)]}))
    return path


def ids(path: Path) -> list[str]:
    return [question.id for question in TASK.read(path, CONFIG, False).examples]


def test_reads_some_articles_of_a_file(file: Path):
    assert ids(file.with_name("train-v1.1.json#1:2")) == ["1a", "1b"]
    assert ids(file.with_name("train-v1.1.json#5:")) == ["5a", "5b"]
    for articles in ("7:", ":0"):
        message = r"train-v1.1.json has no questions in the articles that are read \(6 in the file"
        with pytest.raises(ValueError, match=message):
            ids(file.with_name(f"train-v1.1.json#{articles}"))
    named_so = file.rename(file.with_name("x#1:2"))
    assert len(ids(named_so)) == 12


def test_a_split_by_the_user_comes_first_and_a_training_file_may_be_alone(file: Path):
    assert [path.name for path in TASK.find(file.parent).dev] == ["train-v1.1.json#:4"]
    for name in ("dev-v1.1.json", "train.json", "dev.json"):
        (file.parent / name).write_text("{}")
        test = TASK.find(file.parent).test
        assert test == ((file.with_name("dev-v1.1.json"),) if name != "dev.json" else ())


def test_questions_are_set_apart_with_their_article(file: Path):
    # as `find` splits SQuAD's file: the later articles are for training, the first ones for development
    splits = Splits(file.with_name("train-v1.1.json#2:"), file.with_name("train-v1.1.json#:2"))
    data = read_data(TASK, splits, task_recipe("qa", "cpu", ["dev_share=0.34"]))
    assert [question.article for question in data.dev] == ["article 4"] * 2 + ["article 1"] * 2
    assert len(data.train) == 8
    dev = read_data(TASK, splits, task_recipe("qa", "cpu")).dev
    assert [question.article for question in dev] == ["article 0"] * 2 + ["article 1"] * 2


def test_cuts_passages_to_train_on(file: Path):
    reading = TASK.read(file, QuestionAnsweringConfig(max_train_tokens=4), True)
    assert [question.id for question in reading.examples] == ["0a", "1a", "2a", "3a", "4a", "5a"]
    assert reading.skipped == {"questions with an answer beyond the first 4 tokens": 6}
    assert reading.examples[1].passage.tokens == ["Ann", "ate", "1", "apples"]
    assert TASK.sentences(reading.examples[1]) == (["Ann", "ate", "1", "apples"], ["How", "many", "?"])
    assert not TASK.read(file, QuestionAnsweringConfig(max_train_tokens=3), True).examples
    longer = TASK.read(file, QuestionAnsweringConfig(max_train_tokens=6), True).examples
    assert [question.passage.tokens[-1] for question in longer] == ["Seoul"] * 12
    assert longer[0].passage is longer[1].passage
    assert longer[1].passage is not longer[2].passage
    assert len(TASK.read(file, QuestionAnsweringConfig(max_train_tokens=4), False).examples) == 12


def test_questions_whose_answer_is_not_at_its_offset_are_skipped_in_training(file: Path):
    file.write_text(file.read_text().replace('"answer_start": 8', '"answer_start": 9', 1))
    assert TASK.read(file, CONFIG, True).skipped == {"questions with an answer that is not at its answer_start": 1}
    assert len(TASK.read(file, CONFIG, False).examples) == 12


def test_counts_the_questions_whose_answer_no_token_covers_and_still_scores_them(write):
    path = write(squad(entry("\u200b", 3), context="Ann\u200b."))
    assert TASK.read(path, CONFIG, True).skipped == {"questions with an answer that no token covers": 1}
    reading = TASK.read(path, CONFIG, False)
    assert len(reading.examples) == 1 and not reading.skipped
    assert TASK.score(reading.examples, [FoundAnswer("Ann", (0, 0), 1.0)]) == {"f1": 0.0, "exact_match": 0.0}


def test_writes_the_file_that_squads_own_script_scores():
    found = FoundAnswer("Ann “X”", (0, 0), 1.0)
    asked = [
        TASK.from_json({"question": "Who?", "context": "Ann."} | ({"id": name} if name else {}))
        for name in ("7", "8", "")
    ]
    assert list(TASK.other_forms["squad"]([(each, found) for each in asked[:2]])) == [
        '{"7": "Ann “X”", "8": "Ann “X”"}'
    ]
    with pytest.raises(ValueError, match="the question 'Who' ... has no id; SQuAD's file needs one"):
        list(TASK.other_forms["squad"]([(asked[2], found)]))


@pytest.fixture
def finder(stand_in_inputs) -> AnswerFinder:
    return QUESTION_ANSWERING.model(stand_in_inputs(QUESTION_ANSWERING.words(), output_dim=3)).eval()


def test_learns_the_first_answer_that_tokens_cover(finder: AnswerFinder):
    several = question("Who ?", LONG, None, (2, 2), (0, 0))
    assert finder([several]) == finder([question("Who ?", LONG, (2, 2))]) != finder([question("Who ?", LONG, (0, 0))])


def test_the_end_is_sought_with_the_start_in_view(finder: AnswerFinder):
    seen: list[Tensor] = []
    finder.start_encoder.register_forward_hook(lambda *call: seen.extend([call[1][0], call[2]]))
    finder.end_encoder.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    finder.predict(QUESTIONS[3:])
    read, starting, given_to_end = seen
    torch.testing.assert_close(given_to_end, torch.cat([read, starting], dim=2))


SCORES = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=7)


@given(SCORES, st.integers(1, 9), st.integers(0, 3))
def test_finds_the_best_span_that_is_allowed(scores: list[tuple[int, int]], max_tokens: int, padding: int):
    places = list(combinations_with_replacement(range(len(scores)), 2))
    allowed = [(first, last) for first, last in places if last - first < max_tokens]
    expected = max(allowed, key=lambda span: scores[span[0]][0] + scores[span[1]][1])
    padded = torch.tensor([*scores, *[(torch.finfo(torch.float32).min,) * 2] * padding])
    starts, ends = padded.float().T[:, None]
    assert best_spans(starts, ends, max_tokens=max_tokens) == [expected]
