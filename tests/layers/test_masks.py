from __future__ import annotations

import pytest
import torch

from elmokit.layers.masks import sentence_lengths


def test_counts_the_tokens_of_each_sentence():
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    assert sentence_lengths(mask).tolist() == [2, 0, 3]
    assert sentence_lengths(mask[:, :0]).tolist() == [0, 0, 0]


def test_refuses_gaps_other_types_and_other_shapes():
    with pytest.raises(ValueError, match="sentence 1 has padding before a token"):
        sentence_lengths(torch.tensor([[True, True], [False, True]]))
    with pytest.raises(ValueError, match="of type torch.float32; expected torch.bool"):
        sentence_lengths(torch.ones(2, 2))
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for a batch of shape \(2, 3, 4\)"):
        sentence_lengths(torch.ones(2, 2, dtype=torch.bool), values=torch.zeros(2, 3, 4))
