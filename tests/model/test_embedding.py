from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from elmokit.layers.scalar_mix import ScalarMix
from elmokit.model.elmo import Elmo
from elmokit.model.embedding import ElmoEmbedding
from elmokit.text.characters import batch_character_ids
from toy_bilm import TINY, random_bilm

BILM_CONFIG = replace(TINY, activation="tanh")
SENTENCES = [["the", "cat", "sat", "."], ["the", "the"], [], ["a"]]


def scalar_mix(embedding: ElmoEmbedding, number: int = 0) -> ScalarMix:
    mix = embedding.mixes[number]
    assert isinstance(mix, ScalarMix)
    return mix


def gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
    assert parameter.grad is not None
    return parameter.grad


def test_an_untrained_mix_is_the_average_of_the_layers_for_strings_and_for_character_ids():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), dropout_rate=0.0)
    expected = Elmo(embedding.bilm).encode(SENTENCES)
    ids = torch.from_numpy(batch_character_ids(SENTENCES))
    for output in (embedding(SENTENCES), embedding(ids)):
        assert output.mask.tolist() == [
            [True] * 4,
            [True, True, False, False],
            [False] * 4,
            [True, False, False, False],
        ]
        (mix,) = output.mixes
        assert mix.shape == (4, 4, embedding.output_dim)
        assert not mix[~output.mask].any()
        for vectors, real, sentence in zip(mix, output.mask, expected, strict=True):
            torch.testing.assert_close(vectors[real], torch.from_numpy(sentence), atol=2e-6, rtol=0)


def test_distinct_tokens_of_a_batch_are_encoded_once(monkeypatch: pytest.MonkeyPatch):
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG))
    seen: list[int] = []
    encode = embedding.bilm.encode_tokens
    monkeypatch.setattr(embedding.bilm, "encode_tokens", lambda ids: seen.append(len(ids)) or encode(ids))
    embedding(SENTENCES)
    assert seen == [5 + 2]  # the cat sat . a, and the two boundaries


def test_mixes_learn_apart_and_the_frozen_bilm_stays_as_it_is():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), num_mixes=2)
    output = embedding(SENTENCES)
    (output.mixes[0].sum() + 0.0 * output.mixes[1].sum()).backward()
    first, second = scalar_mix(embedding, 0), scalar_mix(embedding, 1)
    assert gradient(first.weights).any() and gradient(first.gamma).any()
    assert not gradient(second.weights).any()
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in embedding.bilm.parameters())


def test_the_frozen_bilm_stays_in_eval_mode_while_the_dropout_trains():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG)).train()
    assert embedding.training and not embedding.bilm.training
    assert not torch.equal(embedding(SENTENCES).mixes[0], embedding(SENTENCES).mixes[0])
    embedding.eval()
    assert torch.equal(embedding(SENTENCES).mixes[0], embedding(SENTENCES).mixes[0])


def test_gradients_flow_into_the_bilm_on_request():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), requires_grad=True, dropout_rate=0.0).train()
    assert embedding.bilm.training
    embedding(SENTENCES).mixes[0].square().sum().backward()
    gradients = {name: parameter.grad for name, parameter in embedding.bilm.named_parameters()}
    assert all(gradient is not None and gradient.any() for gradient in gradients.values())
    embedding.zero_grad()
    with torch.no_grad():
        assert not embedding(SENTENCES).mixes[0].requires_grad


def test_the_penalty_sums_over_the_mixes():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), num_mixes=2)
    with torch.no_grad():
        scalar_mix(embedding, 0).weights.fill_(1.0)
        scalar_mix(embedding, 1).weights.fill_(2.0)
    assert embedding.penalty().item() == 3 * 1 + 3 * 4
    assert ElmoEmbedding(random_bilm(BILM_CONFIG), top_layer_only=True).penalty().item() == 0


def test_the_top_layer_only():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), top_layer_only=True, dropout_rate=0.0)
    top = Elmo(embedding.bilm).encode([SENTENCES[0]], layers="top")[0]
    torch.testing.assert_close(embedding(SENTENCES[:1]).mixes[0][0], torch.from_numpy(top), atol=2e-6, rtol=0)


def test_layer_norm_is_over_the_real_tokens_of_the_batch_without_boundaries():
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), layer_norm=True, dropout_rate=0.0)
    layers = torch.cat(
        [torch.from_numpy(array) for array in Elmo(embedding.bilm).encode(SENTENCES, layers="all")], dim=1
    )
    mean, deviation = layers.mean(dim=(1, 2), keepdim=True), layers.std(dim=(1, 2), keepdim=True, correction=0)
    output = embedding(SENTENCES)
    expected = ((layers - mean) / deviation).mean(dim=0)
    torch.testing.assert_close(output.mixes[0][output.mask], expected, atol=1e-5, rtol=0)


def test_learns_which_layer_it_needs():
    """The target is layer 0, so a mix trained on it moves its weight there."""
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG), dropout_rate=0.0)
    target = torch.from_numpy(Elmo(embedding.bilm).encode([SENTENCES[0]], layers=0)[0])
    optimizer = torch.optim.Adam(embedding.mixes.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (embedding(SENTENCES[:1]).mixes[0][0] - target).square().mean().backward()
        optimizer.step()
    assert scalar_mix(embedding).weights.softmax(dim=0)[0] > 0.9


def test_refuses_padding_between_tokens():
    ids = torch.from_numpy(batch_character_ids(SENTENCES)).clone()
    ids[0, 1] = 0
    with pytest.raises(ValueError, match="sentence 0 has padding"):
        ElmoEmbedding(random_bilm(BILM_CONFIG))(ids)


def test_refuses_sentences_that_are_strings_and_no_mixes():
    with pytest.raises(ValueError, match="expected a list of tokens"):
        ElmoEmbedding(random_bilm(BILM_CONFIG))(["The cat sat."])
    with pytest.raises(ValueError, match="num_mixes is 0"):
        ElmoEmbedding(random_bilm(BILM_CONFIG), num_mixes=0)
