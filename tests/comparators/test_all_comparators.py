"""The lists of systems and of trainings."""

from __future__ import annotations

import pytest

from elmokit.comparators.all_comparators import COMPARATORS, open_comparator, train_comparator


def test_systems_are_listed_by_their_names_and_say_what_they_open():
    for name, comparator in COMPARATORS.items():
        assert comparator.name == name
        with pytest.raises(ValueError, match=f"{name} needs a model: "):
            open_comparator(name, "")


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(ValueError, match="no system 'covee'; did you mean cove"):
        open_comparator("covee", "x")
    with pytest.raises(ValueError, match="no training 'contextvec'; did you mean context2vec"):
        train_comparator("contextvec", [], "x")
