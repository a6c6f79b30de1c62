from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elmokit.metrics.coreference import CoreferenceScore, best_alignment, score_coreference
from elmokit.metrics.score import Score

KEY_A = "a bc def"


def score(gold: str, predicted: str) -> CoreferenceScore:
    """Clusters are words, and mentions are their letters."""
    return score_coreference(gold=gold.split(), predicted=predicted.split())


Expected = tuple[float, float] | None

# Key, response, and (recall, precision) of MUC, B-cubed and CEAF-e: the test cases of reference-coreference-scorers
# (test/TestCases.README). None marks numbers that they leave out. In A7 to A9, the response has b more than once.
PUBLISHED: dict[str, tuple[str, str, Expected, Expected, Expected]] = {
    "A1": (KEY_A, "a bc def", (1, 1), (1, 1), (1, 1)),
    "A2": (KEY_A, "a de", (1 / 3, 1), (7 / 18, 1), (1.8 / 3, 1.8 / 2)),
    "A3": (KEY_A, "a bcx defy z", (1, 3 / 5), (1, 55 / 108), (0.88571, 0.66429)),
    "A4": (KEY_A, "a bcx dy z", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (2.2 / 3, 2.2 / 4)),
    "A5": (KEY_A, "a bcxB dy z", (1 / 3, 1 / 4), (5 / 9, 5 / 16), (0.68889, 0.51667)),
    "A6": (KEY_A, "a bcx dy Bz", (1 / 3, 1 / 4), (5 / 9, 17 / 48), (2.2 / 3, 2.2 / 4)),
    "A7": (KEY_A, "a bcxb dy z", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (2.2 / 3, 2.2 / 4)),
    "A8": (KEY_A, "a bcx dy bz", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (2.2 / 3, 2.2 / 4)),
    "A9": (KEY_A, "a bcx dy bbbbbbbbbbz", (1 / 3, 1 / 3), (5 / 9, 17 / 42), (2.2 / 3, 2.2 / 4)),
    "A10": (KEY_A, "a b c d e f", (0, 0), (3 / 6, 1), None),
    "A11": (KEY_A, "abcdef", (1, 3 / 5), (1, 7 / 18), None),
    "A12": (KEY_A, "a x y c d e z", (0, 0), (13 / 36, 4 / 7), None),
    "A13": (KEY_A, "axycdez", (1 / 3, 1 / 6), (17 / 36, 6 / 49), None),
    "D1": ("12345 67 89ABC", "12345 6789ABC", (1, 9 / 10), (1, 16 / 21), None),
    "E1": ("12345 67 89ABC", "1234589ABC 67", (1, 9 / 10), (1, 7 / 12), None),
    "F1": ("ABCD", "AB CD", (2 / 3, 1), None, None),
    "G1": ("AB CD", "ABCD", (1, 2 / 3), None, None),
    "J1": ("ABC", "AC", (1 / 2, 1), None, None),
    "K1": ("BCDEGHJ", "ABC DEF GHI", (3 / 6, 3 / 6), None, None),
    "L1": ("ABC DEFG", "AB CD FGH", (2 / 5, 2 / 4), None, None),
    "M1": ("abcdef", "abcdef", (1, 1), (1, 1), (1, 1)),
    "N1": ("a b c d e f", "a b c d e f", (0, 0), (1, 1), (1, 1)),
}


@pytest.mark.parametrize("case", PUBLISHED.values(), ids=PUBLISHED.keys())
def test_the_reference_scorers_own_cases(case: tuple[str, str, Expected, Expected, Expected]):
    gold, predicted, *expected = case
    result = score(gold, predicted)
    for metric, numbers in zip((result.muc, result.b_cubed, result.ceaf_e), expected, strict=True):
        if numbers is not None:
            assert (metric.recall, metric.precision) == pytest.approx([100 * number for number in numbers], abs=6e-4)


def test_documents_add_up_before_they_are_divided():
    total = sum([score("ab", "ab"), score("abc", "cd")], CoreferenceScore())
    assert (total.muc.recall, total.muc.precision) == pytest.approx((100 * 1 / 3, 100 * 1 / 2))
    assert total.b_cubed == Score(correct=2.5, predicted=4, recalled=2 + 1 / 3, gold=5)
    assert total.ceaf_e == Score.of_matches(correct=1 + 2 / 5, predicted=2, gold=2)
    assert total.average_f1 == pytest.approx((total.muc.f1 + total.b_cubed.f1 + total.ceaf_e.f1) / 3)
    assert total.mentions == Score.of_matches(correct=3, predicted=4, gold=5)
    assert score("", "") == CoreferenceScore()


def test_of_repeats_in_the_response_the_scorer_drops_gold_mentions_only_and_those_in_the_key_count_twice():
    result = score("ab", "ab b xx")  # counts as ab, xx
    assert result.ceaf_e == Score.of_matches(correct=1, predicted=2, gold=1)
    assert result.b_cubed == Score(correct=2, predicted=4, recalled=2, gold=2)
    assert result.muc == Score.of_matches(correct=1, predicted=2, gold=1)
    result = score("ab bc", "ab c")  # b belongs to its last cluster in the key, so a and b are two parts
    assert result.muc == Score.of_matches(correct=0, predicted=1, gold=2)
    assert result.b_cubed == Score(correct=2 / 2 + 1 / 2 + 1, predicted=3, recalled=2 / 2 + 1 / 2 + 1 / 2, gold=4)


def best_sum(similarity: list[tuple[float, ...]]) -> float:
    """The best sum, found by trying every alignment."""
    if len(similarity) > len(similarity[0]):
        similarity = list(zip(*similarity, strict=True))
    columns = range(len(similarity[0]))
    return max(
        sum(row[column] for row, column in zip(similarity, chosen, strict=True))
        for chosen in permutations(columns, len(similarity))
    )


@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(-1, 1)] * 3), min_size=1, max_size=5))
def test_no_alignment_is_better_than_the_best(similarity: list[tuple[float, ...]]):
    pairs = best_alignment(similarity)
    rows, columns = zip(*pairs, strict=True)
    assert len(set(rows)) == len(set(columns)) == len(pairs) == min(len(similarity), len(similarity[0]))
    assert sum(similarity[row][column] for row, column in pairs) == pytest.approx(best_sum(similarity), abs=1e-9)
    assert best_alignment([]) == best_alignment([[], []]) == []
