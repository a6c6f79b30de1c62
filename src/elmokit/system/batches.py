"""Batches: lists of consecutive items of an iterable, made lazily."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batched(
    items: Iterable[T], *, size: int, weight: Callable[[T], float] = lambda _: 0, enough_weight: float = math.inf
) -> Iterator[list[T]]:
    """Yield lists of `size` consecutive items. The last list may be shorter, but no list is empty.

    weight: weight of an item. A list also ends when its total weight reaches `enough_weight`.
    """
    batch: list[T] = []
    total = 0.0
    for item in items:
        batch.append(item)
        total += weight(item)
        if len(batch) == size or total >= enough_weight:
            yield batch
            batch, total = [], 0.0
    if batch:
        yield batch
