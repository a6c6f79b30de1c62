import pytest

from elmokit.metrics.labels import score_labels
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
    assert score.macro_f1 == pytest.approx(100 * (2 / 3 + 0 + 2 / 3) / 3)  # as scikit-learn has it
    nothing = score_labels(gold=list[str](), predicted=list[str]())
    assert (nothing.accuracy.percent, nothing.macro_f1) == (0, 0)


def test_refuses_unequal_numbers():
    with pytest.raises(ValueError, match="5 gold labels but 4 predicted ones"):
        score_labels(gold=GOLD, predicted=PREDICTED[:4])
