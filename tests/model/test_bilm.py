"""The biLM: what a sentence's activations depend on, and what they do not."""

from dataclasses import replace

import pytest
import torch

from elmokit.text.characters import batch_character_ids
from toy_bilm import TINY, random_bilm

CONFIG = replace(TINY, num_highway_layers=1)
SENTENCES = [["a"], ["the", "river", "bank"], ["밥", "눈"], [], ["x" * 60, "y"] * 4]


def ids(sentences: list[list[str]]) -> torch.Tensor:
    return torch.from_numpy(batch_character_ids(sentences, add_boundaries=True))


def test_shapes_mask_zeros_at_padding_and_layer_zero_is_the_token_representation_twice() -> None:
    output = random_bilm(CONFIG)(ids(SENTENCES))
    assert output.layers.shape == (3, 5, 10, 12)
    assert output.mask.sum(dim=1).tolist() == [3, 5, 4, 2, 10]
    assert (output.layers[:, ~output.mask] == 0).all()
    assert (output.layers[:, output.mask] != 0).any(dim=-1).all()
    bilm, batch = random_bilm(CONFIG), ids([["the", "river"]])
    tokens = bilm.encode_tokens(batch[0])
    torch.testing.assert_close(bilm(batch).layers[0, 0], torch.cat([tokens, tokens], dim=1))


def test_forward_sees_the_past_alone_and_backward_the_future_alone() -> None:
    bilm = random_bilm(CONFIG)
    with torch.no_grad():
        one = bilm(ids([["a", "b", "c", "d"]])).layers[1:, 0]
        other = bilm(ids([["a", "b", "X", "d"]])).layers[1:, 0]
    changed = (one != other).any(dim=0)
    assert changed[:, :6].any(dim=1).tolist() == [False, False, False, True, True, True]
    assert changed[:, 6:].any(dim=1).tolist() == [True, True, True, True, False, False]


def test_gradients_reach_every_weight() -> None:
    bilm = random_bilm(CONFIG).train()
    bilm(ids(SENTENCES)).layers.square().sum().backward()
    for name, parameter in bilm.named_parameters():
        assert parameter.grad is not None and (parameter.grad != 0).any(), name
    assert (bilm.char_encoder.embedding.weight.grad[0] == 0).all()  # type: ignore[index]


def test_padding_inside_a_sentence_a_wrong_shape_and_a_state_of_other_rows_are_refused() -> None:
    bilm, batch = random_bilm(CONFIG), ids([["a", "b"]])
    batch[0, 1] = 0
    with pytest.raises(ValueError, match="padding goes after a sentence's end"):
        bilm(batch)
    with pytest.raises(ValueError, match=r"expected \(sentences, tokens, 50\)"):
        bilm(torch.ones(2, 3, 20, dtype=torch.int32))
    state = bilm(ids([["a"]])).state
    with pytest.raises(ValueError, match="the state has 1 rows, but the batch has 2"):
        bilm(ids([["a"], ["b"]]), state)


def test_the_text_of_a_config_that_fingerprints_hash_stays_the_same() -> None:
    assert CONFIG.text() == (
        "BiLMConfig(filters=((1, 4), (3, 8)), character_dim=4, num_characters=262, max_characters_per_token=50, "
        "activation='relu', num_highway_layers=1, projection_dim=6, lstm_dim=16, num_layers=2, cell_clip=3.0, "
        "projection_clip=3.0, use_skip_connections=True, bidirectional=True)"
    )
    assert f"{CONFIG.text()[:-1]}, lookup=None)" == repr(CONFIG)
