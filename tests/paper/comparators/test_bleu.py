"""BLEU, computed by hand."""

import math

import pytest

from paper.comparators.bleu import score_translations


def test_a_corpus_computed_by_hand():
    hypotheses = [["the", "cat", "sat", "on", "the", "mat"], ["a", "dog"]]
    references = [["the", "cat", "sat", "on", "a", "mat"], ["a", "dog", "barks"]]
    score = score_translations(hypotheses, references)
    assert score.matches == (7, 4, 2, 1)  # "the" counts once: the reference has it once
    assert score.totals == (8, 6, 4, 3)
    assert score.brevity_penalty == pytest.approx(math.exp(1 - 9 / 8))
    precisions = (7 / 8) * (4 / 6) * (2 / 4) * (1 / 3)
    assert score.bleu == pytest.approx(100 * math.exp(1 - 9 / 8) * precisions**0.25)


def test_equal_corpora_have_a_hundred():
    corpus = [["one", "two", "three", "four", "five"]]
    assert score_translations(corpus, corpus).bleu == 100


def test_a_longer_translation_has_no_brevity_penalty():
    score = score_translations([["a", "b", "c", "d", "e"]], [["a", "b", "c", "d"]])
    assert score.brevity_penalty == 1
    assert score.bleu == pytest.approx(100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


@pytest.mark.parametrize("hypothesis", ["", "b a", "a b c x"])
def test_without_a_match_of_some_length_it_is_zero(hypothesis: str):
    assert score_translations([hypothesis.split()], [["a", "b", "c", "d"]]).bleu == 0


def test_every_translation_needs_a_reference():
    with pytest.raises(ValueError, match="1 translations for 0 references"):
        score_translations([["a"]], [])
