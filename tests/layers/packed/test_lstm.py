"""The sigmoid of packed layers; that these give what the trained ones give is in tests/model/test_packed_bilm.py."""

from collections.abc import Iterator

import pytest
import torch

from elmokit.layers.packed.lstm import GRAIN, LANES, sigmoid


@pytest.fixture(params=[1, 2, 3, 7, 12])
def num_threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_the_bits_of_a_row_depend_neither_on_the_threads_nor_on_the_other_rows(num_threads: int) -> None:
    values = torch.randn(40, 4096, generator=torch.Generator().manual_seed(0)) * 3
    alone = torch.cat([torch.sigmoid(row[None]) for row in values])
    for rows in (1, 17, 20, 29, 33, 40):
        assert torch.equal(sigmoid(values[:rows], out=torch.empty(rows, 4096)), alone[:rows])


@pytest.mark.parametrize("shape", [(0, 64), (1, 5), (7, 3 * LANES), (3, GRAIN + 1)])
def test_it_is_the_sigmoid_also_in_place_and_of_widths_that_fill_no_vector(
    num_threads: int, shape: tuple[int, int]
) -> None:
    values = torch.linspace(-9, 9, shape[0] * shape[1]).view(shape)
    expected = 1 / (1 + torch.exp(-values))
    assert sigmoid(values, out=values) is values
    torch.testing.assert_close(values, expected)
