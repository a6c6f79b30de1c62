"""Scores of word senses, computed by hand after the official Scorer."""

from __future__ import annotations

import pytest

from paper.probes.sense_scores import correct_share, score_senses

GOLD = {"a": ["x"], "b": ["x", "y"], "c": ["z"], "d": ["z"]}


def test_any_of_several_right_keys_is_right():
    score = score_senses(GOLD, {"a": ["x"], "b": ["y"], "c": ["x"], "d": ["z"]})
    assert (score.precision, score.recall, score.f1) == (75, 75, 75)


def test_missing_answers_lower_recall_and_unknown_ones_do_not_count():
    score = score_senses(GOLD, {"a": ["x"], "b": ["w"], "nowhere": ["x"], "c": []})
    assert (score.precision, score.recall) == (50, 25)
    assert score.f1 == pytest.approx(100 / 3)


def test_several_answers_count_by_the_share_that_is_right():
    assert correct_share(["x", "y"], ["x", "w", "w"]) == 0.5
    assert score_senses({"a": ["x"]}, {"a": ["x", "w"]}).precision == 50


def test_no_answer_at_all_is_zero():
    assert score_senses(GOLD, {}).f1 == 0
