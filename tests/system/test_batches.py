from itertools import count

from elmokit.system.batches import batched


def test_a_list_ends_with_its_size_or_the_item_that_makes_it_heavy_enough_and_no_more_is_read_than_is_asked_for():
    assert list(batched([1, 2, 3, 4, 5], size=3)) == [[1, 2, 3], [4, 5]]
    assert list(batched([1, 2, 3, 4], size=2)) == [[1, 2], [3, 4]]
    assert list(batched([], size=3)) == []
    assert list(batched([1, 2, 3, 9, 1, 1], size=3, weight=int, enough_weight=5)) == [[1, 2, 3], [9], [1, 1]]
    numbers = count()
    assert next(batched(numbers, size=4)) == [0, 1, 2, 3]
    assert next(numbers) == 4
