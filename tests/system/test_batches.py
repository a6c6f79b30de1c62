from itertools import count
from typing import Any

import pytest

from elmokit.system.batches import batched


@pytest.mark.parametrize(
    ("items", "limits", "batches"),
    [
        ([1, 2, 3, 4, 5], {"size": 3}, [[1, 2, 3], [4, 5]]),
        ([1, 2, 3, 4], {"size": 2}, [[1, 2], [3, 4]]),
        ([], {"size": 3}, []),
        ([1, 2, 3, 9, 1, 1], {"size": 3, "weight": int, "enough_weight": 5}, [[1, 2, 3], [9], [1, 1]]),
    ],
)
def test_a_list_ends_with_its_size_or_the_item_that_makes_it_heavy_enough(
    items: list[int], limits: dict[str, Any], batches: list[list[int]]
):
    assert list(batched(items, **limits)) == batches


def test_no_more_is_read_than_is_asked_for():
    numbers = count()
    assert next(batched(numbers, size=4)) == [0, 1, 2, 3]
    assert next(numbers) == 4
