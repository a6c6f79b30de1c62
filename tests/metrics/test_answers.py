import pytest

from elmokit.metrics.answers import answer_f1, normalise_answer, score_answers

GOLD = [["Denver Broncos", "The Denver Broncos", "Broncos"], ["2015"], ["in the golden gate"]]


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
    score = score_answers(gold=GOLD, predicted=["the Broncos", "2016", "Golden Gate Park"])
    assert score["exact_match"] == pytest.approx(100 / 3)
    assert score["f1"] == pytest.approx(100 * (1 + 0 + 2 / 3) / 3)
    assert score_answers(gold=[], predicted=[]) == {"f1": 0, "exact_match": 0}
    assert score_answers(gold=[["the"]], predicted=[""])["exact_match"] == 100  # both are empty
