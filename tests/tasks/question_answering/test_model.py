from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from elmokit.tasks.question_answering.model import AnswerFinder, best_spans
from elmokit.tasks.question_answering.reader import Answer, Passage, Question
from elmokit.tasks.question_answering.recipes import QuestionAnsweringConfig, paper

LONG = Passage.of("Ann met Bob in Seoul on Monday , and Bob gave her a red hat .")
SHORT = Passage.of("It rained all day .")


def question(text: str, passage: Passage, *spans: tuple[int, int] | None) -> Question:
    answers = [Answer("x" if span is None else passage.span_text(*span), 0, span) for span in spans]
    return Question(text, text.split(), passage, answers)


QUESTIONS = [
    question("Where did Ann meet Bob ?", LONG, (4, 4)),
    question("What did Bob give her ?", LONG, (12, 14)),
    question("Who ?", LONG, (0, 0)),
    question("How long did it rain ?", SHORT, (2, 3)),
]
SMALL = QuestionAnsweringConfig(hidden_dim=8, dropout_rate=0.0)


@pytest.fixture
def finder(stand_in_inputs) -> AnswerFinder:
    words = [token for each in QUESTIONS for token in each.tokens + each.passage.tokens]
    return AnswerFinder(SMALL, inputs=stand_in_inputs(words, output_dim=3))


@pytest.mark.slow
def test_learns_four_questions_by_heart(finder: AnswerFinder):
    optimizer = torch.optim.Adam(finder.parameters(), lr=0.01)
    for _ in range(80):
        optimizer.zero_grad()
        loss = finder(QUESTIONS)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    found = finder.eval().predict(QUESTIONS)
    assert [answer.text for answer in found] == ["Seoul", "a red hat", "Ann", "all day"]
    assert [answer.span for answer in found] == [(4, 4), (12, 14), (0, 0), (2, 3)]
    assert all(0.9 < answer.probability <= 1 for answer in found)


def test_the_company_of_a_batch_changes_nothing(finder: AnswerFinder):
    finder.eval()
    alone = torch.stack([finder([each]) for each in QUESTIONS])
    torch.testing.assert_close(finder(QUESTIONS), alone.mean())
    for each, answer in zip(QUESTIONS, finder.predict(QUESTIONS), strict=True):
        (other,) = finder.predict([each])
        assert (answer.text, answer.span) == (other.text, other.span)
        assert answer.probability == pytest.approx(other.probability, abs=1e-6)


def test_predicts_without_looking_at_the_answers(finder: AnswerFinder):
    unanswered = [replace(each, answers=[]) for each in QUESTIONS]
    assert finder.eval().predict(unanswered) == finder.predict(QUESTIONS)


def test_learns_the_first_answer_that_tokens_cover(finder: AnswerFinder):
    finder.eval()
    several = question("Who ?", LONG, None, (2, 2), (0, 0))
    assert finder([several]) == finder([question("Who ?", LONG, (2, 2))]) != finder([question("Who ?", LONG, (0, 0))])


def test_refuses_to_learn_what_no_token_covers(finder: AnswerFinder):
    with pytest.raises(
        ValueError, match=r"question 'Who \?' \('Who' \.\.\.\) has no answer that tokens of its passage cov"
    ):
        finder([question("Who ?", LONG, None)])


def test_what_is_for_the_output_stands_behind_the_first_encoder_of_both_texts(finder: AnswerFinder):
    seen: list[Tensor] = []
    finder.attention.register_forward_pre_hook(lambda _, arguments: seen.extend(arguments))
    finder.eval().predict(QUESTIONS[3:])
    context, asked = seen
    assert context.shape == (1, 5, 2 * 8 + 3)
    torch.testing.assert_close(context[..., 16:], finder.inputs([SHORT.tokens]).outputs)
    torch.testing.assert_close(asked[..., 16:], finder.inputs([QUESTIONS[3].tokens]).outputs)


def test_the_end_is_sought_with_the_start_in_view(finder: AnswerFinder):
    seen: list[Tensor] = []
    finder.start_encoder.register_forward_hook(lambda *call: seen.extend([call[1][0], call[2]]))
    finder.end_encoder.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    finder.eval().predict(QUESTIONS[3:])
    read, starting, given_to_end = seen
    torch.testing.assert_close(given_to_end, torch.cat([read, starting], dim=2))


SCORES = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=7)


@given(SCORES, st.integers(1, 9), st.integers(0, 3))
def test_finds_the_best_span_that_is_allowed(scores: list[tuple[int, int]], max_tokens: int, padding: int):
    starts, ends = (list(column) for column in zip(*scores, strict=True))
    allowed = [
        (first, last)
        for first in range(len(scores))
        for last in range(first, len(scores))
        if last - first + 1 <= max_tokens
    ]
    expected = max(allowed, key=lambda span: starts[span[0]] + ends[span[1]])
    lowest = [torch.finfo(torch.float32).min] * padding
    (found,) = best_spans(
        torch.tensor([[*starts, *lowest]], dtype=torch.float32),
        torch.tensor([[*ends, *lowest]], dtype=torch.float32),
        max_tokens=max_tokens,
    )
    assert found == expected


def test_the_paper_recipe_has_the_published_sizes(stand_in_inputs):
    inputs = stand_in_inputs(["a"], input_dim=300 + 100 + 1024, output_dim=1024)  # words, characters, ELMo; ELMo
    finder = AnswerFinder(paper().model, inputs=inputs)

    def gru(input_dim: int) -> int:
        return 2 * 3 * 90 * (input_dim + 90 + 2)  # directions, gates, units, inputs and state and two biases

    attention = 3 * (180 + 1024) + 180 * (4 * (180 + 1024) + 1)  # trilinear, dense
    self_attention = gru(180) + 3 * 180 + 1 + 180 * (3 * 180 + 1)  # trilinear, the score of nothing, dense
    own = sum(parameter.numel() for name, parameter in finder.named_parameters() if not name.startswith("inputs."))
    assert own == gru(1424) + attention + self_attention + gru(180) + gru(360) + 2 * 180 == 2_325_433
