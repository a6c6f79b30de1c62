import pytest
import torch

from elmokit.layers.masks import masked_max, masked_mean, masked_min, sentence_lengths
from elmokit.layers.scalar_mix import ScalarMix, normalise_layers


def random_layers() -> torch.Tensor:
    return torch.randn(3, 2, 5, 4, generator=torch.Generator().manual_seed(1))


def test_a_mix_computed_by_hand_refuses_another_number_of_layers():
    mix = ScalarMix(num_layers=2)
    with torch.no_grad():
        mix.weights.copy_(torch.tensor([0.0, 3.0]).log1p())  # softmax: 1/5, 4/5
        mix.gamma.fill_(10.0)
    layers = torch.tensor([1.0, 2.0]).reshape(2, 1, 1, 1)
    torch.testing.assert_close(mix(layers), torch.tensor([[[18.0]]]))
    torch.testing.assert_close(mix.shares, torch.tensor([0.2, 0.8]))
    with pytest.raises(ValueError, match="over 2 layers was given 3"):
        mix(random_layers())
    with pytest.raises(ValueError, match="at least one"):
        ScalarMix(num_layers=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_starts_as_the_average_of_the_layers_in_their_dtype_whatever_that_of_the_weights_is(dtype: torch.dtype):
    layers = random_layers().to(dtype)
    mixed = ScalarMix(num_layers=3).double()(layers)
    torch.testing.assert_close(mixed, layers.mean(dim=0))
    assert mixed.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [1e-4, 1.0, 100.0])
def test_layers_of_16_bits_are_normalised_in_float32(dtype: torch.dtype, size: float):
    layers = size * torch.randn(2, 2, 40, 1024, generator=torch.Generator().manual_seed(1)) + size
    mask = torch.ones(2, 40, dtype=torch.bool)  # 81,920 numbers; the largest one of float16 is 65,504
    layers = layers.to(dtype)
    normalised = normalise_layers(layers, mask)
    assert normalised.dtype == dtype and torch.equal(normalised, normalise_layers(layers.float(), mask).to(dtype))
    assert not normalise_layers(torch.ones_like(layers), mask).any()


def test_tokens_are_counted_and_gaps_are_refused():
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    assert sentence_lengths(mask).tolist() == [2, 0, 3]
    assert sentence_lengths(mask[:, :0]).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="sentence 1 has padding before a token"):
        sentence_lengths(torch.tensor([[True, True], [False, True]]))


def test_pools_computed_by_hand_leave_out_padding_and_give_zeros_for_no_tokens():
    values = torch.tensor([[[-1.0, 4.0], [-3.0, 8.0], [100.0, -100.0]], [[5.0, 6.0]] * 3, [[7.0, 7.0]] * 3])
    mask = torch.tensor([[True, True, False], [True, False, False], [False, False, False]])
    assert masked_mean(values, mask).tolist() == [[-2.0, 6.0], [5.0, 6.0], [0.0, 0.0]]
    assert masked_max(values, mask).tolist() == [[-1.0, 8.0], [5.0, 6.0], [0.0, 0.0]]
    assert masked_min(values, mask).tolist() == [[-3.0, 4.0], [5.0, 6.0], [0.0, 0.0]]
    for pool in (masked_mean, masked_max, masked_min):
        assert pool(values[:, :0], mask[:, :0]).tolist() == [[0.0, 0.0]] * 3
