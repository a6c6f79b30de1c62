import copy
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.embedding import ElmoEmbedding, LayerChoice
from elmokit.model.bilm import BiLM
from elmokit.text.characters import batch_character_ids
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.save_vectors import save_vectors
from refusals import refusals, refused_options
from toy_bilm import TINY, random_bilm

BILM_CONFIG = replace(TINY, activation="tanh")
SENTENCES = [["the", "cat", "sat", "."], ["the", "the"], [], ["a"]]


def new_embedding(**settings: Any) -> ElmoEmbedding:
    return ElmoEmbedding(random_bilm(BILM_CONFIG), dropout_rate=0.0, **settings)


def test_an_untrained_mix_is_the_average_of_the_layers_for_strings_and_for_character_ids():
    embedding = new_embedding()
    expected = Elmo(embedding.bilm).encode(SENTENCES, layers="average")
    ids = batch_character_ids(SENTENCES)
    for output in (embedding(SENTENCES), embedding(ids), embedding(torch.from_numpy(ids))):
        assert torch.equal(output.mask, torch.arange(4) < torch.tensor([4, 2, 0, 1])[:, None])
        (mix,) = output.mixes
        assert mix.shape == (4, 4, embedding.output_dim)
        assert not mix[~output.mask].any()
        for vectors, real, sentence in zip(mix, output.mask, expected, strict=True):
            torch.testing.assert_close(vectors[real], torch.from_numpy(sentence), atol=2e-6, rtol=0)


def test_mixes_learn_apart_and_the_frozen_bilm_stays_as_it_is_in_eval_mode():
    embedding = new_embedding(num_mixes=2)
    output = embedding(SENTENCES)
    (output.mixes[0].sum() + 0.0 * output.mixes[1].sum()).backward()
    first, second = embedding.mixes[0], embedding.mixes[1]
    assert first.weights.grad.any() and first.gamma.grad.any()
    assert not second.weights.grad.any()
    assert all(parameter.grad is None and not parameter.requires_grad for parameter in embedding.bilm.parameters())
    embedding = ElmoEmbedding(random_bilm(BILM_CONFIG)).train()
    assert embedding.training and not embedding.bilm.training
    assert not torch.equal(embedding(SENTENCES).mixes[0], embedding(SENTENCES).mixes[0])
    embedding.eval()
    assert torch.equal(embedding(SENTENCES).mixes[0], embedding(SENTENCES).mixes[0])


def test_gradients_flow_into_the_bilm_on_request():
    embedding = new_embedding(requires_grad=True).train()
    assert embedding.bilm.training
    embedding(SENTENCES).mixes[0].square().sum().backward()
    gradients = {name: parameter.grad for name, parameter in embedding.bilm.named_parameters()}
    assert all(gradient is not None and gradient.any() for gradient in gradients.values())
    embedding.zero_grad()
    ids = torch.from_numpy(batch_character_ids(SENTENCES))
    torch.utils.checkpoint.checkpoint(embedding, ids, use_reentrant=False).mixes[0].square().sum().backward()
    assert all(gradient is not None and gradient.any() for gradient in gradients.values())
    with torch.no_grad():
        assert not embedding(SENTENCES).mixes[0].requires_grad
    later = new_embedding().train()
    later.requires_grad_(True)
    with pytest.warns(UserWarning, match="but this module gives them none; to train it, set trains_bilm = True"):
        later(SENTENCES).mixes[0].sum().backward()
    later.trains_bilm = True
    later.train()(SENTENCES).mixes[0].square().sum().backward()
    assert all(parameter.grad is not None for parameter in later.parameters())


def test_the_penalty_sums_over_the_mixes_and_is_multiplied_by_its_factor():
    for factor in (1.0, 0.5):
        embedding = new_embedding(num_mixes=2, penalty_factor=factor)
        with torch.no_grad():
            embedding.mixes[0].weights.fill_(1.0)
            embedding.mixes[1].weights.copy_(torch.tensor([1.0, -2.0, 3.0]))
        assert embedding.penalty().item() == factor * (3 * 1 + 14)
        embedding.penalty().backward()
        assert embedding.mixes[1].weights.grad.tolist() == [factor * 2, factor * -4, factor * 6]
        assert embedding.mixes[1].gamma.grad is None


def test_layer_norm_is_over_the_real_tokens_of_the_batch_without_boundaries():
    embedding = new_embedding(layer_norm=True)
    layers = torch.cat(
        [torch.from_numpy(array) for array in Elmo(embedding.bilm).encode(SENTENCES, layers="all")], dim=1
    )
    mean, deviation = layers.mean(dim=(1, 2), keepdim=True), layers.std(dim=(1, 2), keepdim=True, correction=0)
    output = embedding(SENTENCES)
    expected = ((layers - mean) / deviation).mean(dim=0)
    torch.testing.assert_close(output.mixes[0][output.mask], expected, atol=1e-5, rtol=0)


def test_refuses_padding_between_tokens_and_sentences_that_are_strings(snapshot: SnapshotAssertion):
    ids = torch.from_numpy(batch_character_ids(SENTENCES)).clone()
    bounded = torch.from_numpy(batch_character_ids(SENTENCES, add_boundaries=True))
    ids[0, 1] = 0
    strings = (["The cat sat."], [["The"], None], "The cat sat")
    given = (ids, ids.float(), ids + 40, ids - 1, bounded, *strings)
    assert refusals(new_embedding(), given) == snapshot
    with pytest.raises(ValueError, match="^got <generator object .*; expected a list of sentences"):
        new_embedding()(sentence for sentence in SENTENCES)


@pytest.mark.parametrize("choice", ["top", "average", 0, 1, 2, [0.1, 0.3, 0.6], np.array([2.0, 0.0, -1.0], np.float32)])
def test_each_choice_of_layers_is_gamma_times_what_elmo_gives(choice: Any):
    embedding = new_embedding(layers=choice)
    expected = torch.from_numpy(Elmo(embedding.bilm).encode(SENTENCES[:1], layers=choice)[0])
    torch.testing.assert_close(embedding(SENTENCES[:1]).mixes[0][0], expected, atol=2e-6, rtol=0)
    with torch.no_grad():
        embedding.mixes[0].gamma.fill_(3.0)
    torch.testing.assert_close(embedding(SENTENCES[:1]).mixes[0][0], 3 * expected, atol=6e-6, rtol=0)


def test_rescaled_layers_are_as_large_as_each_other():
    bilm = random_bilm(BILM_CONFIG)
    embedding = ElmoEmbedding(bilm, rescale=True, dropout_rate=0.0)
    with pytest.warns(UserWarning, match=r"no scales were measured; call measure_scales\(sentences\) first"):
        before = embedding(SENTENCES).mixes[0]
    with pytest.raises(ValueError, match="no tokens to measure the scales on"):
        embedding.measure_scales([])
    embedding.measure_scales([sentence for sentence in SENTENCES if sentence])
    layers = torch.from_numpy(np.concatenate(Elmo(bilm).encode(SENTENCES, layers="all"), axis=1))
    scales = layers.square().mean(dim=(1, 2)).sqrt()
    torch.testing.assert_close(embedding.scales, scales, atol=1e-6, rtol=1e-5)
    output = embedding(SENTENCES)
    rescaled = (layers / scales[:, None, None]).mean(dim=0)
    torch.testing.assert_close(output.mixes[0][output.mask], rescaled, atol=1e-5, rtol=0)
    assert not torch.equal(before, output.mixes[0])
    with pytest.raises(ValueError, match="create it with rescale=True"):
        ElmoEmbedding(bilm).measure_scales(SENTENCES)


def test_tokens_that_are_encoded_once_have_the_same_vectors_and_gradients(monkeypatch: pytest.MonkeyPatch):
    vectors: list[torch.Tensor] = []
    gradients: list[dict[str, torch.Tensor]] = []
    seen: list[int] = []
    encode = BiLM.encode_tokens
    monkeypatch.setattr(BiLM, "encode_tokens", lambda bilm, ids: seen.append(len(ids)) or encode(bilm, ids))
    for distinct in (True, False):
        embedding = new_embedding(requires_grad=True, encode_distinct=distinct)
        vectors.append(embedding(SENTENCES).mixes[0])
        vectors[-1].square().sum().backward()
        gradients.append({name: value.grad for name, value in embedding.named_parameters()})
    assert seen == [5 + 2, 7 + 2 * 4]  # the cat sat . a, and the two boundaries
    torch.testing.assert_close(vectors[0], vectors[1])
    torch.testing.assert_close(gradients[0], gradients[1])


def test_a_copy_computes_the_same_and_learns_apart():
    embedding = new_embedding(num_mixes=2, rescale=True)
    embedding.measure_scales(SENTENCES)
    assert torch.equal(embedding.state_dict()["scales"], embedding.scales)
    pickled, twin = pickle.loads(pickle.dumps(embedding)), copy.deepcopy(embedding)
    for other in (pickled, twin):
        assert torch.equal(other(SENTENCES).mixes[1], embedding(SENTENCES).mixes[1])
    with torch.no_grad():
        twin.mixes[1].gamma.fill_(2.0)
    assert torch.equal(twin(SENTENCES).mixes[1], 2 * embedding(SENTENCES).mixes[1])
    assert twin.bilm is not embedding.bilm


def test_frozen_layers_take_the_place_of_the_bilm(tmp_path: Path, snapshot: SnapshotAssertion):
    sentences = [["three", "to"], ["a"]]
    arrays = [np.array([[[0.0] * 3] * len(tokens), [[len(token)] * 3 for token in tokens]]) for tokens in sentences]
    save_vectors(tmp_path / "v.npy", sentences, arrays)
    lengths = FileVectorSource(tmp_path / "v.npy")
    embedding = ElmoEmbedding(lengths, dropout_rate=0.0)
    output = embedding(sentences)
    assert embedding.output_dim == 3 and output.mask.tolist() == [[True, True], [True, False]]
    assert output.mixes[0][:, :, 0].tolist() == [[2.5, 1.0], [0.5, 0.0]]
    assert set(embedding.state_dict()) == {"mixes.0.weights", "mixes.0.gamma"}
    twin = copy.deepcopy(embedding)
    assert twin.frozen is not None and twin.frozen.layers is lengths  # the layers may be gigabytes
    assert refusals(embedding, ("The cat sat", torch.zeros(1, 2, 50, dtype=torch.long))) == snapshot
    with pytest.raises(ValueError, match="frozen layers cannot be trained"):
        ElmoEmbedding(lengths, requires_grad=True)


def test_what_is_not_a_bilm_and_settings_that_it_does_not_have_are_refused_at_once(snapshot: SnapshotAssertion):
    no_bilm: list[Any] = [Elmo(random_bilm(TINY)), "small-en", None, torch.nn.Linear(2, 2), print, Elmo, random_bilm]
    settings = [{"layers": 3}, {"layers": "best"}, {"num_mixes": 0}]
    assert refusals(ElmoEmbedding, no_bilm) == snapshot
    assert refused_options(new_embedding, settings) == snapshot


@pytest.mark.parametrize("layers", ["mix", "top"])
def test_the_mixes_are_made_on_the_device_of_the_bilm_and_the_default_device_changes_nothing(layers: LayerChoice):
    elsewhere = ElmoEmbedding(random_bilm(BILM_CONFIG).to("meta"), layers=layers, rescale=True)
    assert {tensor.device.type for tensor in (*elsewhere.parameters(), *elsewhere.buffers())} == {"meta"}
    bilm = random_bilm(BILM_CONFIG)
    with torch.device("meta"):
        here = ElmoEmbedding(bilm, layers=layers, rescale=True)
    assert {tensor.device.type for tensor in (*here.parameters(), *here.buffers())} == {"cpu"}
    here.eval().measure_scales(SENTENCES)
    expected = here(SENTENCES).mixes[0]
    with torch.device("meta"):
        here.measure_scales(SENTENCES)
        assert torch.equal(here(SENTENCES).mixes[0], expected)


class Tagger(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.elmo = new_embedding(requires_grad=True)

    def forward(self, sentences: list[list[str]]) -> torch.Tensor:
        return self.elmo(sentences).mixes[0].tanh()


def test_with_the_recipe_of_the_page_a_model_compiles_and_a_copy_of_it_has_its_own_weights(monkeypatch: Any):
    page = (Path(__file__).parents[2] / "docs/embedding.md").read_text()
    recipe = re.search(r"`(\S+ = torch\.compiler\.disable\(.*?\))`", page)
    model = Tagger().eval()
    expected = model(SENTENCES)
    monkeypatch.setattr(ElmoEmbedding, "forward", ElmoEmbedding.forward)  # so that it is restored at the end
    assert recipe is not None
    exec(recipe[1], {"torch": torch, "ElmoEmbedding": ElmoEmbedding, "model": model})
    assert torch.equal(torch.compile(model, backend="eager")(SENTENCES), expected)
    copied = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in copied.elmo.bilm.parameters():
            parameter.zero_()
    assert not copied(SENTENCES).any()
    assert torch.equal(model(SENTENCES), expected)
