"""Ensembles: the mean of the members' probabilities decides, and not the majority."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from elmokit.tasks.question_answering.model import AnswerFinder
from elmokit.tasks.question_answering.recipes import QuestionAnsweringConfig
from elmokit.tasks.question_answering.task import from_json
from elmokit.tasks.task_model import LabelPrediction
from paper.ensemble import ensemble_predictions


def member(task: str, *, predictions: list[Any] | None = None, model: Any = None) -> Any:
    return SimpleNamespace(task=SimpleNamespace(name=task), model_predictions=lambda examples: predictions, model=model)


def test_the_mean_of_probabilities_decides_on_a_pair():
    sure = LabelPrediction("neutral", {"neutral": 0.9, "entailment": 0.1})
    unsure = LabelPrediction("entailment", {"neutral": 0.4, "entailment": 0.6})
    members = [member("entailment", predictions=[one]) for one in (sure, unsure, unsure)]
    (together,) = ensemble_predictions(members, [None])
    assert together.label == "neutral"  # 1.7 against 1.3
    assert together.probabilities["neutral"] == pytest.approx(1.7 / 3)


def test_answers_of_members_that_are_equal_are_those_of_each(stand_in_inputs: Any):
    question = from_json({"question": "Who sat ?", "context": "The cat sat on the mat ."})
    inputs = stand_in_inputs([*question.tokens, *question.passage.tokens])
    torch.manual_seed(1)
    finder = AnswerFinder(QuestionAnsweringConfig(hidden_dim=4, dropout_rate=0.0), inputs=inputs).eval()
    (alone,) = finder.predict([question])
    (together,) = ensemble_predictions([member("question-answering", model=finder)] * 2, [question])
    assert together.span == alone.span and together.text == alone.text
    assert together.probability == pytest.approx(alone.probability)
    start, end = finder.probabilities([question])
    assert float(start.sum()) == pytest.approx(1) and float(end.sum()) == pytest.approx(1)


def test_members_of_other_tasks_are_refused():
    with pytest.raises(ValueError, match="an ensemble of sentiment; expected models of one of entailment"):
        ensemble_predictions([member("sentiment")], [])
    with pytest.raises(ValueError, match="an ensemble of nothing"):
        ensemble_predictions([], [])
