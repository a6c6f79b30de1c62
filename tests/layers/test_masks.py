import pytest
import torch

from elmokit.layers.masks import masked_max, masked_mean, masked_min, sentence_lengths


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
