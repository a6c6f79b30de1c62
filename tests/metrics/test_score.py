import pytest

from elmokit.metrics.score import Accuracy, Score


def test_conllevals_published_sample():
    """`processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.` on the page of CoNLL-2000."""
    score = Score.of_matches(correct=371, predicted=539, gold=459)
    assert [round(value, 2) for value in (score.precision, score.recall, score.f1)] == [68.83, 80.83, 74.35]


def test_nothing_to_divide_by_gives_zero():
    assert (Score().precision, Score().recall, Score().f1, Accuracy().percent) == (0, 0, 0, 0)
    assert Score.of_matches(correct=0, predicted=3, gold=4).f1 == 0


def test_batches_add_up_before_they_are_divided():
    total = sum(
        [Score.of_matches(correct=1, predicted=1, gold=2), Score.of_matches(correct=0, predicted=3, gold=0)], Score()
    )
    assert total == Score.of_matches(correct=1, predicted=4, gold=2)
    assert (total.precision, total.recall) == (25, 50)
    score = Score(correct=1, predicted=2, recalled=3, gold=4)  # recall has its own numerator
    assert (score.precision, score.recall, score.f1) == (50, 75, pytest.approx(60))
    assert Accuracy(correct=1, total=2) + Accuracy(correct=2, total=2) == Accuracy(correct=3, total=4)
    assert Accuracy(correct=3, total=4).percent == 75
