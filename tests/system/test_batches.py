from __future__ import annotations

from itertools import count

from elmokit.system.batches import batched


def test_lists_have_the_size_and_the_last_one_what_is_left():
    assert list(batched("abcdefg", size=3)) == [["a", "b", "c"], ["d", "e", "f"], ["g"]]
    assert list(batched("abcdef", size=3)) == [["a", "b", "c"], ["d", "e", "f"]]


def test_nothing_gives_no_list():
    assert list(batched([], size=3)) == []


def test_a_list_ends_with_the_item_that_makes_it_heavy_enough():
    assert list(batched([1, 2, 3, 9, 1, 1, 1, 1], size=3, weight=int, enough_weight=5)) == [
        [1, 2, 3],
        [9],
        [1, 1, 1],
        [1],
    ]


def test_no_more_is_read_than_is_asked_for():
    numbers = count()
    assert next(batched(numbers, size=4)) == [0, 1, 2, 3]
    assert next(numbers) == 4
