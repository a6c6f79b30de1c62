from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from elmokit.tasks.question_answering.model import AnswerFinder, best_spans
from task_examples import LONG, QUESTION_ANSWERING, QUESTIONS, SHORT, question


@pytest.fixture
def finder(stand_in_inputs) -> AnswerFinder:
    return QUESTION_ANSWERING.model(stand_in_inputs(QUESTION_ANSWERING.words(), output_dim=3)).eval()


def test_learns_the_first_answer_that_tokens_cover(finder: AnswerFinder):
    several = question("Who ?", LONG, None, (2, 2), (0, 0))
    assert finder([several]) == finder([question("Who ?", LONG, (2, 2))]) != finder([question("Who ?", LONG, (0, 0))])


def test_what_is_for_the_output_stands_behind_the_first_encoder_of_both_texts(finder: AnswerFinder):
    seen: list[Tensor] = []
    finder.attention.register_forward_pre_hook(lambda _, arguments: seen.extend(arguments))
    finder.predict(QUESTIONS[3:])
    context, asked = seen
    assert context.shape == (1, 5, 2 * 8 + 3)
    torch.testing.assert_close(context[..., 16:], finder.inputs([SHORT.tokens]).outputs)
    torch.testing.assert_close(asked[..., 16:], finder.inputs([QUESTIONS[3].tokens]).outputs)


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
