"""Scores taken apart into items, intervals of their differences, and ensembles, in which probabilities decide."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from elmokit.metrics.statistics import Interval
from elmokit.tasks.all_tasks import TASKS, find_task
from elmokit.tasks.question_answering.model import AnswerFinder
from elmokit.tasks.question_answering.recipes import QuestionAnsweringConfig
from elmokit.tasks.question_answering.task import from_json
from elmokit.tasks.task_model import LabelPrediction
from paper.bootstrap import ENSEMBLES, ITEM_COUNTS
from paper.differences import paired_bootstrap
from task_examples import EXAMPLES

(_, accuracy), (_, f1) = (ITEM_COUNTS[task] for task in ("sentiment", "named-entities"))


def items(*right: int) -> list[tuple[float, ...]]:
    return [(float(one), 1.0) for one in right]


def test_intervals_and_means_computed_by_hand():
    # The first item is gained, the second is the same: samples of two gain 0, 50, 50 or 100 points.
    assert paired_bootstrap([items(0, 1)], [items(1, 1)], score=accuracy) == Interval(50, 0, 100)
    same = items(*[0, 1] * 50)  # pairing leaves only the items that differ
    assert paired_bootstrap([same], [same], score=accuracy) == Interval(0, 0, 0)
    # A system has the mean score of its runs, and F1 is of all items together.
    first = [[(1.0, 2.0, 2.0), (0.0, 0.0, 2.0)], [(1.0, 2.0, 2.0), (1.0, 2.0, 2.0)]]  # 2/6 and 4/8
    second = [[(2.0, 2.0, 2.0), (2.0, 2.0, 2.0)]]
    assert paired_bootstrap(first, second, score=f1).estimate == pytest.approx(100 - (100 / 3 + 50) / 2)
    with pytest.raises(ValueError, match="is longer"):  # runs of other items
        paired_bootstrap([items(1)], [items(1, 0)], score=accuracy)


@pytest.mark.parametrize("name", TASKS)
def test_the_sums_of_the_items_give_the_score_of_the_task(name: str, stand_in_inputs: Any):
    (counts_of, score), task, case = ITEM_COUNTS[name], find_task(name), EXAMPLES[name]
    first, *others = case.examples
    model = case.model(stand_in_inputs(case.words(), output_dim=case.output_dim)).eval()
    gold = getattr(first, case.gold)
    right = {"label": first, "answers": gold[0]}.get(case.gold, gold)  # what has the field that is compared
    predictions = [right, *model.predict(others)]
    items = [counts_of(example, made) for example, made in zip(case.examples, predictions, strict=True)]
    expected = task.score(case.examples, predictions)[task.metric]
    assert 0 < expected < 100
    assert score(tuple(map(sum, zip(*items, strict=True)))) == pytest.approx(expected)


def member(task: str, *, predictions: list[Any] | None = None, model: Any = None) -> Any:
    return SimpleNamespace(task=SimpleNamespace(name=task), model_predictions=lambda examples: predictions, model=model)


def test_the_mean_of_probabilities_decides_on_a_pair():
    sure = LabelPrediction("neutral", {"neutral": 0.9, "entailment": 0.1})
    unsure = LabelPrediction("entailment", {"neutral": 0.4, "entailment": 0.6})
    members = [member("entailment", predictions=[one]) for one in (sure, unsure, unsure)]
    (together,) = ENSEMBLES["entailment"](members, [None])
    assert together.label == "neutral"  # 1.7 against 1.3
    assert together.probabilities["neutral"] == pytest.approx(1.7 / 3)


def test_answers_of_members_that_are_equal_are_those_of_each(stand_in_inputs: Any):
    question = from_json({"question": "Who sat ?", "context": "The cat sat on the mat ."})
    inputs = stand_in_inputs([*question.tokens, *question.passage.tokens])
    torch.manual_seed(1)
    finder = AnswerFinder(QuestionAnsweringConfig(hidden_dim=4, dropout_rate=0.0), inputs, []).eval()
    (alone,) = finder.predict([question])
    (together,) = ENSEMBLES["question-answering"]([member("question-answering", model=finder)] * 2, [question])
    assert together.span == alone.span and together.text == alone.text
    assert together.probability == pytest.approx(alone.probability)
