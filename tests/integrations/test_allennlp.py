"""The classes for AllenNLP users: they give the numbers of AllenNLP's own modules, or differ on purpose."""

import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import Tensor, nn

from elmokit.elmo.elmo import Elmo as Encoder
from elmokit.formats.published import find_published
from elmokit.integrations.allennlp import (
    DEFAULT_OPTIONS_FILE,
    DEFAULT_WEIGHT_FILE,
    Elmo,
    ElmoEmbedder,
    ElmoTokenEmbedder,
    batch_to_ids,
)
from elmokit.text.characters import batch_character_ids
from elmokit.vectors.files import load_vectors
from refusals import refusals
from toy_bilm import TINY, random_bilm

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODULES = FIXTURES / "formats" / "allennlp"
CHECKPOINTS = FIXTURES / "formats" / "checkpoints"
PAIR = (CHECKPOINTS / "char/options.json", CHECKPOINTS / "char.dumped.hdf5")
PUBLISHED = (FIXTURES / "allennlp/options.json", FIXTURES / "allennlp/lm_weights.hdf5")
SENTENCES: list[list[str]] = json.loads((FIXTURES / "formats/sentences.json").read_text())
STREAMS = [
    [line.split() for line in stream] for stream in json.loads((FIXTURES / "allennlp/sentences.json").read_text())
]
TOP = [-9e10, -9e10, 1.0]
TOLERANCE = 1e-5


def state_of(name: str) -> dict[str, Tensor]:
    """The state dict of a module, or of the token embedder in an archive."""
    if name.endswith(".th"):
        return torch.load(MODULES / name, weights_only=True)
    with tarfile.open(MODULES / name) as archive:
        file = archive.extractfile("weights.th")
        assert file is not None
        state = torch.load(io.BytesIO(file.read()), weights_only=True)
    prefix = "text_field_embedder.token_embedder_elmo."
    return {key.removeprefix(prefix): tensor for key, tensor in state.items() if key.startswith(prefix)}


def load_theirs(module: nn.Module, name: str) -> None:
    """Load AllenNLP's state, and check that the module then has that state, with the same names and shapes."""
    theirs = state_of(name)
    module.load_state_dict(theirs)
    for key, tensor in module.state_dict().items():
        torch.testing.assert_close(tensor, theirs[key], rtol=0, atol=1e-6)
        assert "state_linearity.bias" in key or torch.equal(tensor, theirs[key])


def expected(name: str) -> dict[str, np.ndarray[Any, Any]]:
    with np.load(MODULES / name) as arrays:
        return dict(arrays)


def assert_close(ours: Tensor, theirs: Any) -> None:
    torch.testing.assert_close(ours, torch.as_tensor(theirs), rtol=0, atol=TOLERANCE)


def test_a_module_with_their_state_gives_their_vectors():
    elmo = Elmo(*PAIR, 2, dropout=0.0).eval()
    load_theirs(elmo, "elmo_two_mixes.state_dict.th")
    output = elmo(batch_to_ids(SENTENCES))
    theirs = expected("modules.expected.npz")
    for number, ours in enumerate(output["elmo_representations"]):
        assert_close(ours, theirs[f"elmo_{number}"])
    assert output["mask"].dtype == torch.bool
    assert output["mask"].sum(dim=1).tolist() == [len(sentence) for sentence in SENTENCES]

    embedder = ElmoTokenEmbedder(*PAIR, dropout=0.0)
    load_theirs(embedder, "elmo_token_embedder.state_dict.th")
    assert_close(embedder(batch_to_ids(SENTENCES)), theirs["token_embedder"])
    assert embedder.get_output_dim() == 12


def test_layer_norm_and_projection_are_theirs_in_a_batch_and_alone():
    embedder = ElmoTokenEmbedder(*PAIR, do_layer_norm=True, projection_dim=5).eval()
    load_theirs(embedder, "finetuned_projected.model.tar.gz")
    theirs = expected("finetuned_projected.expected.npz")
    batch = embedder(batch_to_ids(SENTENCES))
    for number, sentence in enumerate(SENTENCES):
        assert_close(batch[number, : len(sentence)], theirs[f"token_embedder/{number}"])
        assert_close(embedder(batch_to_ids([sentence]))[0], theirs[f"token_embedder_alone/{number}"])
    assert embedder.get_output_dim() == 5


def test_a_fixed_mix_is_theirs_and_is_not_trained():
    embedder = ElmoTokenEmbedder(*PAIR, dropout=0.0, scalar_mix_parameters=[0.3, -1.0, 0.5])
    assert [name for name, parameter in embedder.named_parameters() if parameter.requires_grad] == []
    vectors = embedder(batch_to_ids(SENTENCES))
    theirs = expected("fixed_mix.expected.npz")
    for number, sentence in enumerate(SENTENCES):
        assert_close(vectors[number, : len(sentence)], theirs[f"token_embedder/{number}"])


def test_with_state_every_published_vector_comes_out_and_without_it_those_of_the_first_batch_alone():
    elmo, stateless = (
        Elmo(*PUBLISHED, 1, dropout=0.0, scalar_mix_parameters=TOP, stateful=stateful) for stateful in (True, False)
    )
    for line, batch in enumerate(zip(*STREAMS, strict=True)):
        vectors, others = (each(batch_to_ids(batch))["elmo_representations"][0] for each in (elmo, stateless))
        for stream, sentence in enumerate(batch):
            with h5py.File(FIXTURES / f"allennlp/lm_embeddings_{stream}.hdf5") as file:
                published = np.concatenate(np.asarray(file[str(line)]), axis=1)
            assert_close(vectors[stream, : len(sentence)], published)
        difference = float((others - vectors).detach().abs().max())
        assert difference <= TOLERANCE if line == 0 else difference > 0.1
        assert torch.equal(stateless(batch_to_ids(batch))["elmo_representations"][0], others)


def test_a_smaller_batch_leaves_the_state_of_the_other_rows_and_a_larger_one_adds_rows():
    elmo = Elmo(*PUBLISHED, 1, dropout=0.0, scalar_mix_parameters=TOP, stateful=True)
    encoder = Encoder.from_pretrained(*PUBLISHED, device="cpu")
    batches = [STREAMS[0][:2], STREAMS[1][:1], STREAMS[2][:3]]
    last = [elmo(batch_to_ids(batch))["elmo_representations"][0] for batch in batches][-1]
    rows = [[batch[row] for batch in batches if row < len(batch)] for row in range(3)]
    for row, stream in enumerate(encoder.encode_streams(rows)):
        assert_close(last[row, : len(stream[-1])], stream[-1])
    elmo.reset_states()
    afresh = elmo(batch_to_ids(batches[0]))["elmo_representations"][0]
    assert_close(afresh[0, : len(batches[0][0])], encoder.encode(batches[0])[0])


def test_a_token_embedder_can_forget_its_state():
    embedder = ElmoTokenEmbedder(*PAIR, dropout=0.0, stateful=True)
    ids = batch_to_ids(SENTENCES)
    first, second = embedder(ids), embedder(ids)
    assert not torch.equal(first, second)
    embedder.reset_states()
    assert torch.equal(embedder(ids), first)
    theirs = embedder._elmo._elmo_lstm._elmo_lstm  # the path that AllenNLP's own scripts use
    theirs.reset_states()
    assert torch.equal(embedder(ids), first)
    theirs.stateful = False
    assert torch.equal(embedder(ids), first) and torch.equal(embedder(ids), first)


def test_the_state_of_some_rows_can_be_forgotten():
    elmo = Elmo(*PAIR, 1, dropout=0.0, stateful=True)
    bilm = elmo._elmo_lstm._elmo_lstm
    ids = batch_to_ids([["a", "b"]] * 3)
    bilm.reset_states(torch.tensor([True]))
    first, second = (elmo(ids)["elmo_representations"][0] for _ in range(2))
    elmo.reset_states()
    elmo(ids)
    bilm.reset_states(torch.tensor([True, False, True]))
    again = elmo(ids)["elmo_representations"][0]
    assert_close(again[[0, 2]], first[[0, 2]])
    assert_close(again[1], second[1])
    bilm._states = None  # as some scripts write
    assert_close(elmo(ids)["elmo_representations"][0], first)


def test_boundaries_can_be_kept_also_those_of_a_blank_sentence_alone():
    bilm = random_bilm()
    ids = batch_to_ids([["a", "b"], ["c"]])
    elmo = Elmo(None, None, 1, dropout=0.0, module=bilm, keep_sentence_boundaries=True)
    kept = elmo(ids)
    cut = Elmo(None, None, 1, dropout=0.0, module=bilm)(ids)
    assert kept["mask"].tolist() == [[True] * 4, [True] * 3 + [False]]
    assert torch.equal(
        kept["elmo_representations"][0][:, 1:-1] * cut["mask"][:, :, None], cut["elmo_representations"][0]
    )
    assert kept["elmo_representations"][0][1, 2].abs().sum() > 0  # </S>
    alone, next_to_another = (elmo(batch_to_ids(sentences)) for sentences in ([[]], [[], ["a"]]))
    assert alone["mask"].tolist() == [[True, True]]
    assert_close(alone["elmo_representations"][0][0], next_to_another["elmo_representations"][0][0, :2])


def test_further_axes_are_kept():
    elmo = Elmo(None, None, 1, dropout=0.0, module=random_bilm(), vocab_to_cache=["<pad>", "a", "b", "c"])
    ids = batch_to_ids([["a", "b"], ["c"], ["b"], []])
    flat = elmo(ids)
    square = elmo(ids.view(2, 2, 2, 50))
    assert square["elmo_representations"][0].shape == (2, 2, 2, 12)
    assert torch.equal(square["elmo_representations"][0].flatten(0, 1), flat["elmo_representations"][0])
    assert torch.equal(square["mask"].flatten(0, 1), flat["mask"])
    words = torch.tensor([[1, 2], [3, 0], [2, 0], [0, 0]])
    cached = elmo(ids.view(2, 2, 2, 50), words.view(2, 2, 2))
    assert_close(cached["elmo_representations"][0], square["elmo_representations"][0])
    assert torch.equal(cached["mask"], square["mask"])


@pytest.mark.parametrize("options", [{}, {"keep_sentence_boundaries": True}, {"do_layer_norm": True, "stateful": True}])
def test_results_are_contiguous_as_theirs(options: dict[str, Any]):
    elmo = Elmo(None, None, 1, module=random_bilm(), vocab_to_cache=["<pad>", "a", "b", "c"], **options)
    ids, words = batch_to_ids([["a"], ["c", "b"], ["b"], []]), torch.tensor([[1, 0], [3, 2], [2, 0], [0, 0]])
    for inputs in ((ids, None), (ids, words)):
        output, layers = elmo(*inputs), elmo._elmo_lstm(*inputs)
        results = [*output["elmo_representations"], output["mask"], *layers["activations"], layers["mask"]]
        assert all(result.is_contiguous() for result in results)
    square = Elmo(None, None, 1, module=random_bilm())(ids.view(2, 2, 2, 50))
    assert square["mask"].is_contiguous() and square["elmo_representations"][0].is_contiguous()


def test_the_layers_and_the_mix_can_be_used_alone_as_in_their_code():
    elmo = Elmo(*PAIR, 1, dropout=0.0)
    ids = batch_to_ids(SENTENCES)
    layers = elmo._elmo_lstm(ids)
    assert [layer.shape[2] for layer in layers["activations"]] == [12] * 3 and layers["mask"].sum() > 0
    mixed = elmo.scalar_mix_0(layers["activations"])[:, 1:-1]
    output = elmo(ids)
    assert_close(mixed * output["mask"][:, :, None], output["elmo_representations"][0])
    assert elmo.scalar_mix_0([torch.ones(2, 5)] * 3).shape == (2, 5)
    with pytest.raises(ValueError, match="got 2 tensors; this mix has weights for 3"):
        elmo.scalar_mix_0(layers["activations"][1:])
    with pytest.raises(ValueError, match="do_layer_norm is true, but no mask was given"):
        Elmo(*PAIR, 1, do_layer_norm=True).scalar_mix_0(layers["activations"])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("do_layer_norm", [False, True])
def test_parts_in_another_precision_are_mixed_in_the_wider_one_as_theirs(dtype: torch.dtype, do_layer_norm: bool):
    elmo, exact = (Elmo(*PAIR, 1, dropout=0.0, do_layer_norm=do_layer_norm) for _ in range(2))
    ids = batch_to_ids(SENTENCES)
    expected = exact(ids)["elmo_representations"][0]
    elmo._elmo_lstm.to(dtype)
    mixed = elmo(ids)["elmo_representations"][0]
    assert mixed.dtype == torch.promote_types(dtype, torch.float32)
    torch.testing.assert_close(mixed.float(), expected, rtol=0.05, atol=0.05)
    whole = exact.to(dtype)
    whole.load_state_dict({name: tensor.to(dtype) for name, tensor in elmo.state_dict().items()}, assign=True)
    assert {parameter.dtype for parameter in whole.parameters()} == {dtype}
    assert whole(ids)["elmo_representations"][0].dtype == dtype


@pytest.mark.parametrize("cached", [None, ["<pad>", "a", "b"]])
def test_a_module_without_memory_works_once_its_state_is_loaded(cached: list[str] | None):
    elmo = Elmo(None, None, 1, dropout=0.0, module=random_bilm(), vocab_to_cache=cached)
    inputs = (batch_to_ids([["a", "b"]]), torch.tensor([[1, 2]]))
    state, expected = elmo.state_dict(), elmo(*inputs)["elmo_representations"][0]
    elmo.to("meta").load_state_dict(state, assign=True)
    assert torch.equal(elmo(*inputs)["elmo_representations"][0], expected)
    elmo.to("meta").to_empty(device="cpu").load_state_dict(state)
    assert torch.equal(elmo(*inputs)["elmo_representations"][0], expected)


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
@pytest.mark.parametrize("stateful", [False, True])
def test_a_batch_without_tokens_gives_an_empty_result(sentences: list[list[str]], stateful: bool):
    elmo = Elmo(None, None, 1, do_layer_norm=True, module=random_bilm(), vocab_to_cache=["<pad>"], stateful=stateful)
    ids = batch_to_ids(sentences)
    assert ids.shape == (len(sentences), 0, 50) and ids.dtype == torch.int64
    for words in (None, torch.zeros(len(sentences), 0, dtype=torch.long)):
        output = elmo(ids, words)
        assert output["elmo_representations"][0].shape == (len(sentences), 0, 12)
        assert output["mask"].shape == (len(sentences), 0) and output["mask"].dtype == torch.bool
    further = elmo(ids[:, None], torch.zeros(len(sentences), 1, 0, dtype=torch.long))
    assert further["elmo_representations"][0].shape == (len(sentences), 1, 0, 12)
    assert further["mask"].shape == (len(sentences), 1, 0)


def test_words_are_cached_in_blocks_with_the_same_vectors_and_others_fall_back(monkeypatch: pytest.MonkeyPatch):
    bilm, in_blocks = random_bilm(), list[int]()
    encode = bilm.encode_tokens
    monkeypatch.setattr(bilm, "encode_tokens", lambda ids: in_blocks.append(len(ids)) or encode(ids))
    monkeypatch.setattr("elmokit.integrations.allennlp_bilm._BLOCK", 2)
    elmo = Elmo(None, None, 1, dropout=0.0, module=bilm, vocab_to_cache=["<pad>", "a", "b", "c", "d"])
    assert in_blocks == [2, 2, 2, 1]  # with the boundaries
    plain = elmo(batch_to_ids([["b", "a"], ["d"]]))
    nothing = torch.zeros(2, 2, 50, dtype=torch.long)  # characters of cached words are not read
    cached = elmo(nothing, torch.tensor([[2, 1], [4, 0]]))
    assert_close(cached["elmo_representations"][0], plain["elmo_representations"][0])
    other = elmo(batch_to_ids([["e", "a"]]), torch.tensor([[5, 1]]))
    assert_close(other["elmo_representations"][0], elmo(batch_to_ids([["e", "a"]]))["elmo_representations"][0])


def test_words_of_the_cache_need_no_characters_and_others_do():
    elmo = Elmo(None, None, 1, dropout=0.0, module=random_bilm(), vocab_to_cache=["<pad>", "a", "b"])
    words = torch.tensor([[1, 2], [2, 0]])
    found = elmo(None, word_inputs=words)["elmo_representations"][0]
    torch.testing.assert_close(found, elmo(batch_to_ids([["a", "b"], ["b"]]))["elmo_representations"][0])
    with pytest.raises(ValueError, match="inputs is None, but some of word_inputs are not in vocab_to_cache"):
        elmo(None, word_inputs=torch.tensor([[1, 9]]))
    with pytest.raises(ValueError, match="neither character ids nor word_inputs were given"):
        elmo(None)


def test_the_boundaries_of_cached_words_stay_as_they_are_so_that_the_char_encoder_is_not_trained():
    bilm = random_bilm().requires_grad_(True)
    elmo = Elmo(None, None, 1, dropout=0.0, module=bilm, vocab_to_cache=["<pad>", "a", "b"])
    words = torch.tensor([[1, 2]])
    before = elmo(None, words)["elmo_representations"][0]
    before.sum().backward()
    assert {name.split(".")[0] for name, each in bilm.named_parameters() if each.grad is not None} == {
        "forward_lstm",
        "backward_lstm",
    }
    assert elmo._elmo_lstm._word_embedding.weight.grad is not None
    torch.nn.init.zeros_(bilm.char_encoder.projection.weight)
    assert torch.equal(elmo(None, words)["elmo_representations"][0], before)


def test_a_state_dict_in_float64_is_read_back_without_rounding():
    elmo = Elmo(None, None, 1, module=random_bilm()).double()
    with torch.no_grad():
        for parameter in elmo.parameters():
            parameter += torch.rand_like(parameter) * 1e-9
    before = {name: parameter.clone() for name, parameter in elmo.named_parameters()}
    elmo.load_state_dict(elmo.state_dict())
    for name, parameter in elmo.named_parameters():
        torch.testing.assert_close(parameter, before[name], rtol=0, atol=1e-15)


def test_words_are_cut_at_the_number_of_characters_of_the_model():
    bilm = random_bilm(replace(TINY, max_characters_per_token=10))
    word, cut = "abcdefghijklmnop", "abcdefgh"
    ids = torch.from_numpy(batch_character_ids([[word, "b"]], max_characters_per_token=10))
    elmo = Elmo(None, None, 1, dropout=0.0, scalar_mix_parameters=TOP, module=bilm, vocab_to_cache=["<pad>", word, "b"])
    expected = Encoder(bilm, device="cpu").encode([[cut, "b"]])[0]
    assert_close(elmo(ids)["elmo_representations"][0][0], expected)
    assert_close(elmo(ids, torch.tensor([[1, 2]]))["elmo_representations"][0][0], expected)
    with pytest.raises(ValueError, match=r"character ids have shape \(1, 2, 50\); expected \(sentences, tokens, 10\)"):
        elmo(batch_to_ids([[word, "b"]]))


def test_the_cache_of_their_state_dict_is_read_and_a_state_dict_can_keep_its_gradients():
    elmo = ElmoTokenEmbedder(*PAIR, vocab_to_cache=["<S>", "</S>", "The", "Hello", "나는"], dropout=0.0)
    theirs = state_of("elmo_token_embedder_cached_vocab.state_dict.th")
    name = "_elmo._elmo_lstm._word_embedding.weight"
    assert_close(elmo.state_dict()[name], theirs[name])
    elmo.load_state_dict(theirs)
    state = Elmo(*PAIR, 1, requires_grad=True).state_dict(keep_vars=True)
    assert state["_elmo_lstm._elmo_lstm.forward_layer_0.state_linearity.bias"].requires_grad


def test_a_state_dict_of_another_size_is_refused_by_name():
    state = state_of("elmo_two_mixes.state_dict.th")
    name = "_elmo_lstm._elmo_lstm.backward_layer_1.input_linearity.weight"
    elmo = Elmo(*PAIR, 2)
    with pytest.raises(RuntimeError, match=f"{name} has shape .*; the biLM of this module calls for"):
        elmo.load_state_dict(state | {name: torch.zeros(2, 2)})
    with pytest.raises(RuntimeError, match=f"{name} has shape"):
        elmo.load_state_dict({name: torch.zeros(2, 2)}, strict=False)
    del state[name]
    with pytest.raises(RuntimeError, match=rf'Missing key\(s\) in state_dict: "{name}"\.'):
        elmo.load_state_dict(state)


@pytest.mark.parametrize("parts", ["_elmo_lstm._elmo_lstm.", "_token_embedder.char_conv_", "scalar_mix_"])
def test_parts_of_a_state_dict_are_loaded_and_the_others_reported_and_left_as_they_are(parts: str):
    state = state_of("elmo_two_mixes.state_dict.th")
    some = {name: tensor for name, tensor in state.items() if parts in name}
    elmo = Elmo(None, None, 2, module=random_bilm(Encoder(*PAIR[:1], weights=PAIR[1], device="cpu").config))
    before = {name: tensor.clone() for name, tensor in elmo.state_dict().items()}
    report = elmo.load_state_dict(some, strict=False)
    assert set(report.missing_keys) == state.keys() - some.keys() and not report.unexpected_keys
    for name, tensor in elmo.state_dict().items():
        torch.testing.assert_close(tensor, some.get(name, before[name]), rtol=0, atol=1e-6)
        assert name in some or torch.equal(tensor, before[name])


@pytest.mark.parametrize("trained", [False, True])
def test_the_bilm_is_trained_only_if_that_is_asked_for_and_a_module_as_its_parameters_say(trained: bool):
    elmo = Elmo(*PAIR, 1, requires_grad=trained)
    elmo(batch_to_ids([["a", "b"]]))["elmo_representations"][0].sum().backward()
    with_gradients = {name for name, parameter in elmo.named_parameters() if parameter.grad is not None}
    assert {"scalar_mix_0.gamma", "scalar_mix_0.scalar_parameters.2"} <= with_gradients
    assert any(name.startswith("_elmo_lstm") for name in with_gradients) == trained
    bilm = random_bilm().requires_grad_(trained)
    Elmo(None, None, 1, requires_grad=not trained, module=bilm)
    assert all(parameter.requires_grad == trained for parameter in bilm.parameters())


def test_a_bundled_model_takes_the_place_of_the_pair_and_dropout_is_applied_in_training_only():
    elmo = Elmo(None, None, 1, module=random_bilm())
    ids = batch_to_ids([["a", "b"]])
    assert (elmo(ids)["elmo_representations"][0] == 0).any()
    assert not (elmo.eval()(ids)["elmo_representations"][0] == 0).any()
    assert Elmo("small-en", None, 1).get_output_dim() == 512


def test_what_cannot_work_is_refused_with_what_to_do(snapshot: SnapshotAssertion):
    calls = (
        lambda: Elmo("https://a.org/o.json", "w.hdf5", 1),
        lambda: Elmo(None, None, 1),
        lambda: Elmo("small-en", None, 1, module=random_bilm()),
        lambda: Elmo(None, None, 1, module=nn.Linear(2, 2)),
        lambda: batch_to_ids("the cat"),
        lambda: Elmo(*PAIR, 1, scalar_mix_parameters=[1.0]),
        lambda: Elmo(FIXTURES / "formats/checkpoints/word", None, 1),
    )
    assert refusals(lambda call: call(), calls, folder=FIXTURES) == snapshot


FEW = [["A", "short", "sentence"], [], ["밥"]]


@pytest.fixture(scope="module")
def embedder() -> ElmoEmbedder:
    return ElmoEmbedder(*PUBLISHED)


def test_the_state_can_be_forgotten():
    embedder = ElmoEmbedder(*PUBLISHED, stateful=True)
    first, second = (embedder.embed_batch(FEW) for _ in range(2))
    assert [layers.shape for layers in second] == [(3, 3, 32), (3, 0, 32), (3, 1, 32)]
    assert not np.array_equal(first[0], second[0])
    embedder.reset_states()
    assert np.array_equal(embedder.embed_batch(FEW)[0], first[0])
    ElmoEmbedder(*PUBLISHED).reset_states()


@pytest.mark.parametrize("batches", [[[[]]], [[]], [[[]], [[]]]])
def test_a_batch_without_tokens_leaves_the_state_as_it_is(batches: list[list[list[str]]]):
    embedder = ElmoEmbedder(*PUBLISHED, stateful=True)
    embedder.embed_batch(FEW)
    second = embedder.embed_batch(FEW)
    embedder.reset_states()
    embedder.embed_batch(FEW)
    for batch in batches:
        assert [layers.shape for layers in embedder.embed_batch(batch)] == [(3, 0, 32)] * len(batch)
    np.testing.assert_array_equal(embedder.embed_batch(FEW)[0], second[0])


def test_with_state_words_are_cut_at_the_characters_of_the_model(tmp_path: Path):
    encoder = Encoder(random_bilm(replace(TINY, max_characters_per_token=10)), device="cpu")
    encoder.save(tmp_path / "model")
    layers = ElmoEmbedder(tmp_path / "model", stateful=True).embed_sentence(["abcdefghijklmnop", "b"])
    np.testing.assert_allclose(layers, encoder.encode([["abcdefgh", "b"]], layers="all")[0], atol=1e-6)


def test_without_state_a_sentence_has_the_vectors_of_encode_in_every_call(embedder: ElmoEmbedder):
    expected = Encoder(*PUBLISHED[:1], weights=PUBLISHED[1], device="cpu").encode(FEW, layers="all")
    in_batches = list(embedder.embed_sentences(iter(FEW), batch_size=2))
    for of_encode, of_batch, sentence in zip(expected, in_batches, FEW, strict=True):
        assert of_encode.shape == of_batch.shape == (3, len(sentence), 32)
        np.testing.assert_allclose(of_batch, of_encode, atol=1e-6)
        np.testing.assert_allclose(embedder.embed_sentence(sentence), of_encode, atol=1e-6)


def test_a_batch_in_one_tensor_is_zero_at_padding(embedder: ElmoEmbedder):
    layers, mask = embedder.batch_to_embeddings(FEW)
    assert layers.shape == (3, 3, 3, 32)
    assert mask.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    assert not (layers * ~mask[:, None, :, None]).any()
    torch.testing.assert_close(layers[2, :, 0], torch.from_numpy(embedder.embed_sentence(["밥"])[:, 0]))
    assert layers.is_contiguous() and mask.is_contiguous()
    for sentences in ([], [[]]):
        layers, mask = embedder.batch_to_embeddings(sentences)
        assert layers.shape == (len(sentences), 3, 0, 32) and mask.shape == (len(sentences), 0)


@pytest.mark.parametrize("output_format", ["all", "top", "average"])
def test_a_file_has_a_dataset_per_line(embedder: ElmoEmbedder, output_format: str, tmp_path: Path):
    lines = io.StringIO("A short sentence\n 밥 \n")
    embedder.embed_file(lines, tmp_path / "vectors.hdf5", output_format)
    layers = embedder.embed_batch([["A", "short", "sentence"], ["밥"]])
    expected = {"all": layers, "top": [array[-1] for array in layers], "average": [a.mean(axis=0) for a in layers]}
    with h5py.File(tmp_path / "vectors.hdf5") as file:
        for number, array in enumerate(expected[output_format]):
            np.testing.assert_allclose(file[str(number)][...], array, atol=1e-6)
        assert file["sentence_to_index"].shape == (1,)
        assert json.loads(file["sentence_to_index"][0]) == {"A short sentence": "0", "밥": "1"}


def test_a_file_without_the_sentences_opens_as_one_of_ours(embedder: ElmoEmbedder, tmp_path: Path):
    lines = ["a b\n", "c\n"] * 6
    embedder.embed_file(lines, tmp_path / "vectors.hdf5", forget_sentences=True)
    assert [array.shape for array in load_vectors(tmp_path / "vectors.hdf5")] == [(3, 2, 32), (3, 1, 32)] * 6
    with h5py.File(tmp_path / "vectors.hdf5") as file:
        assert list(file) == [str(number) for number in range(12)]
    with h5py.File(tmp_path / "theirs.hdf5", "w") as file:  # as AllenNLP writes it with use_sentence_keys
        file["a b"] = np.zeros((3, 2, 32), np.float32)
    with pytest.raises(ValueError, match="holds no vectors; .* not numbered from 0, perhaps named after sentences:"):
        load_vectors(tmp_path / "theirs.hdf5")


@pytest.mark.parametrize("as_given", [str, Path])
def test_a_path_is_opened_and_sentences_can_be_keys(embedder: ElmoEmbedder, as_given: Any, tmp_path: Path):
    text = as_given(tmp_path / "sentences.txt")
    Path(text).write_text("A short sentence\n밥\n", encoding="utf-8")
    embedder.embed_file(text, tmp_path / "by_number.hdf5", use_sentence_keys=False)
    embedder.embed_file(text, tmp_path / "by_sentence.hdf5", use_sentence_keys=True)
    with h5py.File(tmp_path / "by_number.hdf5") as numbers, h5py.File(tmp_path / "by_sentence.hdf5") as sentences:
        assert list(sentences) == ["A short sentence", "밥"]
        for number, array in enumerate(sentences.values()):
            np.testing.assert_array_equal(numbers[str(number)][...], array[...])


def test_without_files_the_model_is_the_published_original(monkeypatch: pytest.MonkeyPatch):
    """AllenNLP's two constants are the addresses of that model. Old scripts may also name no files at all."""
    published = find_published("original")
    assert published is find_published(DEFAULT_OPTIONS_FILE)
    monkeypatch.setenv("ELMOKIT_OFFLINE", "1")
    calls = (
        ElmoEmbedder,
        ElmoTokenEmbedder,
        lambda: ElmoEmbedder(DEFAULT_OPTIONS_FILE, DEFAULT_WEIGHT_FILE),
        lambda: ElmoEmbedder("original"),
    )
    for opened in calls:
        with pytest.raises(FileNotFoundError, match="original"):
            opened()


def test_files_and_models_that_cannot_be_are_refused(
    embedder: ElmoEmbedder, tmp_path: Path, snapshot: SnapshotAssertion
):
    file = tmp_path / "vectors.hdf5"
    calls = (
        lambda: embedder.embed_file(["a", "", "b"], file),
        lambda: embedder.embed_file(["a"], file, "first"),
        lambda: embedder.embed_file(["a", "b", "a"], file, use_sentence_keys=True),
        lambda: embedder.embed_file("a b", file),
        lambda: ElmoEmbedder(weight_file="w.hdf5"),
        lambda: embedder.embed_sentence("I ate"),
        lambda: embedder.embed_batch("I ate"),
    )
    assert refusals(lambda call: call(), calls, folder=tmp_path) == snapshot
