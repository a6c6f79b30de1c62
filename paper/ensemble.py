"""Ensembles of trained models of entailment and of question answering: the mean of their probabilities (section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from elmokit.system.batches import batched
from elmokit.tasks.question_answering.model import AnswerFinder, FoundAnswer, best_spans
from elmokit.tasks.task_model import LabelPrediction

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from elmokit.tasks.question_answering.reader import Question
    from elmokit.tasks.saved import TrainedTask

TASKS = ("entailment", "question-answering")
QUESTIONS_AT_ONCE = 16


def ensemble_predictions(members: Sequence[TrainedTask], examples: Sequence[Any]) -> list[Any]:
    """The predictions of several models of one of TASKS together, in the form of the task's own predictions."""
    return _entailments(members, examples) if members[0].task.name == "entailment" else _answers(members, examples)


def _entailments(members: Sequence[TrainedTask], examples: Sequence[Any]) -> list[LabelPrediction]:
    together: list[LabelPrediction] = []
    for predictions in zip(*(member.model_predictions(examples) for member in members), strict=True):
        labels = predictions[0].probabilities
        means = {label: sum(one.probabilities[label] for one in predictions) / len(members) for label in labels}
        together.append(LabelPrediction(max(means, key=means.__getitem__), means))
    return together


def _answers(members: Sequence[TrainedTask], examples: Sequence[Question]) -> list[FoundAnswer]:
    answers: list[FoundAnswer] = []
    for group in batched(examples, size=QUESTIONS_AT_ONCE):
        start, end = _mean_probabilities(members, group)
        widths = {_finder(member).max_answer_tokens for member in members}
        spans = best_spans(start.log(), end.log(), max_tokens=max(widths))
        for row, (question, (first, last)) in enumerate(zip(group, spans, strict=True)):
            probability = float(start[row, first] * end[row, last])
            answers.append(FoundAnswer(question.passage.span_text(first, last), (first, last), probability))
    return answers


def _mean_probabilities(
    members: Sequence[TrainedTask], questions: Sequence[Question]
) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
    both = [_finder(member).probabilities(questions) for member in members]
    start, end = (torch.stack(side).mean(dim=0) for side in zip(*both, strict=True))
    return start, end


def _finder(member: TrainedTask) -> AnswerFinder:
    assert isinstance(member.model, AnswerFinder)
    return member.model
