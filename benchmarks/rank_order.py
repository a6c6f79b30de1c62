"""How well numbers put things in order: Spearman's correlation of ranks, and the area under the ROC curve."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's correlation of two numbers of the same things, from -1 to 1; equal numbers share their mean rank.

    It is 0 if one of the numbers is the same for all. Raises ValueError for fewer than two things, for rows of
    different lengths, and for NaN.
    """
    if len(first) != len(second) or len(first) < 2:
        raise ValueError(f"{len(first)} and {len(second)} numbers; expected the same number of them, at least two")
    _refuse_nan(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        return 0.0
    return statistics.correlation(ranks(first), ranks(second))


def area_under_curve(positives: Sequence[float], negatives: Sequence[float]) -> float:
    """Share of pairs (positive, negative) in which the positive has the larger number; ties count half.

    Raises ValueError without positives or without negatives, and for NaN.
    """
    if not positives or not negatives:
        raise ValueError(f"{len(positives)} positives and {len(negatives)} negatives; expected at least one of each")
    _refuse_nan(positives, negatives)
    num_positives = len(positives)
    of_positives = ranks([*positives, *negatives])[:num_positives]
    wins = sum(of_positives) - num_positives * (num_positives + 1) / 2  # less the pairs of two positives
    return wins / (num_positives * len(negatives))


def ranks(numbers: Sequence[float]) -> list[float]:
    """The rank of each number, from 1 for the smallest; equal numbers share the mean of their ranks."""
    order = sorted(range(len(numbers)), key=lambda index: numbers[index])
    found = [0.0] * len(numbers)
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and numbers[order[end]] == numbers[order[start]]:
            end += 1
        for index in order[start:end]:
            found[index] = (start + 1 + end) / 2
        start = end
    return found


def _refuse_nan(*rows: Sequence[float]) -> None:
    if any(math.isnan(number) for row in rows for number in row):
        raise ValueError("a number is NaN, which has no place in an order; leave out what was not measured")
