"""Batches: lists of consecutive items of an iterable, made lazily."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def batched(
    items: Iterable[T], *, size: int, weight: Callable[[T], float] = lambda _: 0, enough_weight: float = math.inf
) -> Iterator[list[T]]:
    """Yield lists of `size` consecutive items; the last one may be shorter, and none is empty.

    weight: weight of an item; a list also ends with the item that brings its total weight to `enough_weight`.
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
