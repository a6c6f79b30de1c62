"""The lists of systems and of trainings."""

from __future__ import annotations

import pytest

from elmokit.comparators.all_comparators import COMPARATORS, TRAININGS, open_comparator, train_comparator


def test_every_system_and_training_says_what_it_takes():
    for name, comparator in COMPARATORS.items():
        assert comparator.name == name
        assert comparator.opens
    assert all(training.reads and training.writes for training in TRAININGS.values())


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="no system 'covee'; did you mean cove"):
        open_comparator("covee", "x")
    with pytest.raises(ValueError, match="no training 'contextvec'; did you mean context2vec"):
        train_comparator("contextvec", [], "x")
