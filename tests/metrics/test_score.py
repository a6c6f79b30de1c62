"""Scores of labels, of answers and of several runs, and Student's intervals: computed by hand where possible."""

import math
import statistics

import pytest

from elmokit.metrics.answers import answer_f1, normalise_answer, score_answers
from elmokit.metrics.score import Accuracy, Score, scores_by_label
from elmokit.metrics.statistics import Statistic, paired_t
from elmokit.tasks.task import find_task
from elmokit.tasks.task_model import LabelPrediction


def test_batches_add_up_before_they_are_divided_and_nothing_to_divide_by_gives_zero():
    assert (Score().precision, Score().recall, Score().f1, Accuracy().percent) == (0, 0, 0, 0)
    assert Score.of_matches(correct=0, predicted=3, gold=4).f1 == 0
    parts = [Score.of_matches(correct=1, predicted=1, gold=2), Score.of_matches(correct=0, predicted=3, gold=0)]
    total = sum(parts, Score())
    assert total == Score.of_matches(correct=1, predicted=4, gold=2)
    assert (total.precision, total.recall) == (25, 50)
    score = Score(correct=1, predicted=2, recalled=3, gold=4)  # recall has its own numerator
    assert (score.precision, score.recall, score.f1) == (50, 75, pytest.approx(60))
    # conlleval's sample: `processed 961 tokens with 459 phrases; found: 539 phrases; correct: 371.` (CoNLL-2000)
    score = Score.of_matches(correct=371, predicted=539, gold=459)
    assert [round(value, 2) for value in (score.precision, score.recall, score.f1)] == [68.83, 80.83, 74.35]
    assert Accuracy(correct=3, total=4).percent == 75


GOLD = ["neutral", "neutral", "neutral", "contradiction", "entailment"]
PREDICTED = ["neutral", "neutral", "contradiction", "contradiction", "neutral"]


def test_three_labels_counted_by_hand():
    gold, predicted = ({(label, number) for number, label in enumerate(labels)} for labels in (GOLD, PREDICTED))
    assert scores_by_label(gold=gold, predicted=predicted) == {
        "contradiction": Score.of_matches(correct=1, predicted=2, gold=1),
        "entailment": Score.of_matches(correct=0, predicted=0, gold=1),
        "neutral": Score.of_matches(correct=2, predicted=3, gold=3),
    }
    examples, predictions = ([LabelPrediction(label, {}) for label in labels] for labels in (GOLD, PREDICTED))
    macro_f1 = 100 * (2 / 3 + 0 + 2 / 3) / 3  # as in scikit-learn
    assert find_task("sst").score(examples, predictions) == {"accuracy": 60, "macro_f1": pytest.approx(macro_f1)}


def test_three_seeds_and_many_have_students_interval():
    assert str(paired_t([1.0, 2.0, 3.0])) == "+2.00 [-0.48, 4.48]"  # mean 2, deviation 1, 4.303 / sqrt(3) = 2.484
    assert paired_t([1.0]) is None
    for number, quantile in ((22, 2.0796), (31, 2.0423), (101, 1.9840)):
        differences = [float(seed % 2) for seed in range(number)]
        interval = paired_t(differences)
        assert interval is not None
        error = statistics.stdev(differences) / math.sqrt(number)
        assert (interval.high - interval.estimate) / error == pytest.approx(quantile, abs=5e-5)


def test_mean_and_deviation_are_those_of_a_sample():
    statistic = Statistic((80.0, 82.0, 84.0))
    assert (statistic.mean, statistic.deviation) == (82.0, 2.0)
    assert str(statistic) == "82.00 ± 2.00" and str(Statistic((80.0,))) == "80.00"


ANSWERS = [["Denver Broncos", "The Denver Broncos", "Broncos"], ["2015"], ["in the golden gate"]]


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("The  Denver\tBroncos!", "denver broncos"),
        ("an apple a day", "apple day"),
        ("theatre, another", "theatre another"),
        ("U.S.A.", "usa"),
        ("a-b", "ab"),  # punctuation goes first, so no article is left
        ("the-", ""),
        ("“Été” – 1 €", "“été” – 1 €"),  # only ASCII punctuation
        ("A", ""),
    ],
)
def test_normalising(text: str, normalised: str):
    assert normalise_answer(text) == normalised


@pytest.mark.parametrize(
    ("predicted", "gold", "f1"),
    [
        ("the Denver Broncos", "Broncos", 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ("new new york", "new york new jersey", 2 * 1 * (3 / 4) / (1 + 3 / 4)),
        ("Santa Clara", "Denver", 0),
        ("the", "a", 0),  # two empty answers match exactly and share no word
    ],
)
def test_f1_counts_shared_words(predicted: str, gold: str, f1: float):
    assert answer_f1(predicted, gold) == pytest.approx(f1)
    assert answer_f1(gold, predicted) == pytest.approx(f1)


def test_the_best_gold_answer_counts():
    score = score_answers(gold=ANSWERS, predicted=["the Broncos", "2016", "Golden Gate Park"])
    assert score["exact_match"] == pytest.approx(100 / 3)
    assert score["f1"] == pytest.approx(100 * (1 + 0 + 2 / 3) / 3)
    assert score_answers(gold=[], predicted=[]) == {"f1": 0, "exact_match": 0}
    assert score_answers(gold=[["the"]], predicted=[""])["exact_match"] == 100  # both are empty
