import pytest

from elmokit.metrics.labels import LabelScore, score_labels
from elmokit.metrics.score import Accuracy, Score

GOLD = ["neutral", "neutral", "neutral", "contradiction", "entailment"]
PREDICTED = ["neutral", "neutral", "contradiction", "contradiction", "neutral"]


def test_three_labels_counted_by_hand():
    score = score_labels(gold=GOLD, predicted=PREDICTED)
    assert score.by_label == {
        "contradiction": Score.of_matches(correct=1, predicted=2, gold=1),
        "entailment": Score.of_matches(correct=0, predicted=0, gold=1),
        "neutral": Score.of_matches(correct=2, predicted=3, gold=3),
    }
    assert score.accuracy == Accuracy(correct=3, total=5)
    assert score.micro.f1 == pytest.approx(score.accuracy.percent)
    assert score.macro_f1 == pytest.approx(100 * (2 / 3 + 0 + 2 / 3) / 3)


def test_batches_add_up_to_the_whole():
    halves = [score_labels(gold=GOLD[part], predicted=PREDICTED[part]) for part in (slice(2), slice(2, 5))]
    assert sum(halves, LabelScore[str]()) == score_labels(gold=GOLD, predicted=PREDICTED)


def test_labels_may_be_numbers():
    assert list(score_labels(gold=[4, 0], predicted=[4, 2]).by_label) == [0, 2, 4]


def test_no_instances_score_zero():
    score = score_labels(gold=list[str](), predicted=list[str]())
    assert (score.accuracy.percent, score.macro_f1) == (0, 0)


def test_refuses_unequal_numbers():
    with pytest.raises(ValueError, match="5 gold labels but 4 predicted ones"):
        score_labels(gold=GOLD, predicted=PREDICTED[:4])


def test_as_scikit_learn_has_it():
    metrics = pytest.importorskip("sklearn.metrics", reason="the oracle of the average is scikit-learn")
    score = score_labels(gold=GOLD, predicted=PREDICTED)
    expected = metrics.f1_score(GOLD, PREDICTED, average="macro", zero_division=0)
    assert score.macro_f1 == pytest.approx(100 * expected)
