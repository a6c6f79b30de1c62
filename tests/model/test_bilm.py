"""The biLM: what a sentence's activations depend on. The packed biLM gives the same activations."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.embedding import ElmoEmbedding
from elmokit.formats.importers.layouts import write_bilm_tf
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers import stacked
from elmokit.layers.packed import linear
from elmokit.layers.packed import lstm as packed_lstm
from elmokit.layers.packed.linear import Precision
from elmokit.layers.packed.lstm import PackedState, StackedLSTM
from elmokit.layers.projected_lstm import LSTMState
from elmokit.model import packed_bilm
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.model.packed_bilm import PackedBiLM
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, batch_character_ids
from toy_bilm import TINY, random_bilm, toy_elmo, write_toy

pytestmark = pytest.mark.filterwarnings("ignore:.* tokens(, such as <UNK>,)? are (empty|special)")

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
    with pytest.raises(ValueError, match="expected padding only after the last one"):
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


WORDS = ["the", "cat", "sat", "on", "밥", "<UNK>", ".", "", "a" * 40, "b" * 48]
RELATIVE_ERRORS = {"float32": 1e-6, "bfloat16": 0.02, "int8": 0.08}
"""Largest root mean square of the errors, relative to that of the activations."""

configs = st.builds(
    BiLMConfig,
    filters=st.sampled_from([((1, 4), (3, 8)), ((2, 6),), ((1, 3), (2, 3), (7, 5))]),
    character_dim=st.sampled_from([3, 4]),
    num_highway_layers=st.integers(0, 2),
    activation=st.sampled_from(["relu", "tanh"]),
    projection_dim=st.sampled_from([6, 8, 16]),
    lstm_dim=st.sampled_from([16, 24]),
    num_layers=st.integers(1, 3),
    cell_clip=st.sampled_from([None, 3.0, 0.5]),
    projection_clip=st.sampled_from([None, 3.0, 0.5]),
    use_skip_connections=st.booleans(),
    bidirectional=st.booleans(),
)
sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=9), max_size=7)


def frozen_bilm(config: BiLMConfig, std: float = 0.3) -> BiLM:
    return random_bilm(config, std=std).requires_grad_(False)


def by_the_module(bilm: BiLM, sentence: list[str]) -> np.ndarray:
    """Activations (L,T,E) of one sentence by itself; boundaries are read like any other token."""
    bounded = [[BEGIN_SENTENCE, *sentence, END_SENTENCE]]
    limit = bilm.config.max_characters_per_token
    ids = torch.from_numpy(batch_character_ids(bounded, max_characters_per_token=limit))
    return bilm(ids).layers[:, 0, 1:-1].numpy()


AS_ON_A_GPU = pytest.mark.parametrize("stacked_on", [("cuda",), ("cpu",)], ids=["as on a CPU", "as on a GPU"])


@pytest.mark.slow
@AS_ON_A_GPU
@given(config=configs, sentences=sentences, batch_size=st.integers(1, 5))
@settings(max_examples=30)
def test_equals_the_module_for_any_configuration_lengths_and_order(
    config: BiLMConfig, sentences: list[list[str]], batch_size: int, stacked_on: tuple[str, ...]
):
    bilm = frozen_bilm(config)
    with patch.object(stacked, "STACKED_ON", stacked_on):
        arrays = Elmo(bilm).encode(sentences, layers="all", batch_size=batch_size)
    for sentence, array in zip(sentences, arrays, strict=True):
        expected = by_the_module(bilm, sentence) if sentence else np.empty_like(array)
        assert array.shape == expected.shape
        assert np.abs(array - expected).max(initial=0) <= 2e-6 * max(1.0, np.abs(expected).max(initial=0))


def encoded(bilm: BiLM, sentences: list[list[str]], precision: Precision) -> tuple[Elmo, list[np.ndarray]]:
    try:
        elmo = Elmo(bilm, precision=precision)
        return elmo, elmo.encode(sentences, layers="all")
    except ValueError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("precision", "stacked_on"), [*((name, "cuda") for name in get_args(Precision)), ("bfloat16", "cpu")]
)
def test_each_precision_has_its_error(precision: Precision, stacked_on: str, monkeypatch: pytest.MonkeyPatch):
    if stacked_on == "cpu":
        monkeypatch.setattr(stacked, "STACKED_ON", ("cpu",))
        monkeypatch.setattr(packed_bilm, "kernel_for", lambda *_: linear.PlainBFloat16)
    config = BiLMConfig(filters=((1, 32), (3, 32)), projection_dim=64, lstm_dim=256, character_dim=16)
    bilm = frozen_bilm(config, std=0.1)
    elmo, vectors = encoded(bilm, [WORDS, WORDS[:3]], precision)
    assert elmo.precision == precision
    expected = [by_the_module(bilm, WORDS), by_the_module(bilm, WORDS[:3])]
    error = np.concatenate([(ours - theirs).ravel() for ours, theirs in zip(vectors, expected, strict=True)])
    size = np.concatenate([theirs.ravel() for theirs in expected])
    assert np.sqrt(np.mean(error**2) / np.mean(size**2)) <= RELATIVE_ERRORS[precision]
    if precision in ("bfloat16", "int8"):
        assert np.abs(error).max() > 0  # otherwise float32 ran


def test_the_stacked_directions_of_a_gpu_read_rows_that_end_as_the_module_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(packed_lstm, "ROWS_OF_GPU", 7)  # so that steps of four rows are read one by one
    bilm, batch_sizes = frozen_bilm(replace(CONFIG, cell_clip=0.5)).double(), [4, 4, 4, 2, 1, 1]
    drawn = torch.Generator().manual_seed(0)
    vectors = torch.randn(9, 6, generator=drawn, dtype=torch.float64)
    which = torch.randint(9, (2, sum(batch_sizes)), generator=drawn)
    alive = torch.arange(4) < torch.tensor(batch_sizes)[:, None]
    states = [
        [PackedState(*(torch.randn(4, size, generator=drawn, dtype=torch.float64) for size in (16, 6))) for _ in "12"]
        for _ in "12"
    ]
    expected: list[tuple[list[torch.Tensor], list[LSTMState]]] = []
    for direction, module in enumerate(bilm.lstms):
        inputs = vectors.new_zeros(6, 4, 6)
        inputs[alive] = vectors[which[direction]]
        before = [LSTMState(one.double_cell / 2, one.output.clone()) for one in states[direction]]
        expected.append(module(inputs, before, batch_sizes=batch_sizes))
    outputs = StackedLSTM(stacked.stacked_layers(bilm.lstms), True).read(vectors, which, batch_sizes, states)
    for direction, (layers, last) in enumerate(expected):
        for number, (layer, after) in enumerate(zip(layers, last, strict=True)):
            found = states[direction][number]
            got = (outputs[direction][number], found.double_cell / 2, found.output)
            torch.testing.assert_close(got, (layer[alive], after.cell, after.output), rtol=0, atol=1e-10)


def test_a_gpu_is_given_all_steps_without_waiting_for_a_value():
    class StaysOnMeta(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            results = func(*args, **(kwargs or {}))
            assert all(one.is_meta for one in tree_leaves(results) if isinstance(one, torch.Tensor)), func
            return results

    bilm = frozen_bilm(CONFIG).to("meta")
    zeros = partial(torch.zeros, device="meta")
    with StaysOnMeta():
        which = zeros(2, 12, dtype=torch.long)
        state = [[PackedState(zeros(4, 16), zeros(4, 6)) for _ in "12"] for _ in "12"]
        outputs = StackedLSTM(stacked.stacked_layers(bilm.lstms), True).read(zeros(9, 6), which, [4, 4, 3, 1], state)
    assert [[one.shape for one in layers] for layers in outputs] == [[(12, 6), (12, 6)]] * 2


@pytest.mark.parametrize(
    "changes",
    [
        {"cell_clip": 0.5, "projection_clip": 0.1},
        {"lstm_dim": 6, "use_skip_connections": False},
        {"bidirectional": False},
    ],
    ids=str,
)
def test_an_embedding_on_a_gpu_has_the_vectors_and_gradients_of_the_module(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    found: list[list[torch.Tensor]] = []
    for stacked_on in (("cuda",), ("cpu",)):
        monkeypatch.setattr(stacked, "STACKED_ON", stacked_on)
        bilm = random_bilm(replace(CONFIG, **changes)).double()
        embedding = ElmoEmbedding(bilm, requires_grad=True, num_mixes=2, dropout_rate=0.0).double()
        mixes = embedding(SENTENCES).mixes
        torch.stack(mixes).square().sum().backward()
        found.append([*mixes, *(parameter.grad for parameter in embedding.parameters())])  # type: ignore[list-item]
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=1e-10)


def test_states_and_surprisal_are_those_of_a_cpu_when_directions_are_stacked(monkeypatch: pytest.MonkeyPatch):
    found: list[list[np.ndarray]] = []
    for stacked_on in (("cuda",), ("cpu",)):
        monkeypatch.setattr(stacked, "STACKED_ON", stacked_on)
        elmo = toy_elmo()
        texts = [["a", "b"], ["c"], [], ["b", "a", "c"]]
        streams = elmo.encode_streams([texts[:1], texts[1:]], layers="all")
        results = [one for carry in (False, True) for one in elmo.surprisal(texts, carry_state=carry)]
        sides = [side.bits for one in results for side in (one.forward, one.backward) if side is not None]
        found.append([*(array for stream in streams for array in stream), *sides])
    assert len(found[0]) == (1 + 3) + 2 * 2 * 4
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=5e-6)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_the_bits_of_a_sentence_do_not_depend_on_its_batch(precision: Precision):
    config = BiLMConfig(filters=((1, 32), (3, 32)), projection_dim=32, lstm_dim=64, character_dim=16)
    assert not Elmo(frozen_bilm(TINY)).same_in_any_batch  # its widths do not fill a vector register
    elmo, together = encoded(frozen_bilm(config), [WORDS[: 1 + k % 9] for k in range(200)], precision)
    if not elmo.same_in_any_batch:
        pytest.skip("torch has no such kernel here")
    for k in (0, 5, 8, 199):
        elmo.forget_tokens()
        np.testing.assert_array_equal(elmo.encode([WORDS[: 1 + k % 9]], layers="all")[0], together[k])


def test_the_bits_of_a_sentence_do_not_depend_on_the_number_of_threads():
    config = BiLMConfig(filters=((1, 32), (3, 1024 - 32)), projection_dim=32, lstm_dim=1024, character_dim=16)
    elmo = Elmo(frozen_bilm(config))
    sentences = [[*WORDS[: k % 9], f"number{k}"] for k in range(64)]
    found: list[list[np.ndarray]] = []
    before = torch.get_num_threads()
    for num_threads in (1, 6, 14):
        torch.set_num_threads(num_threads)
        elmo.forget_tokens()
        found.append(elmo.encode(sentences, layers="all", batch_size=64))
    torch.set_num_threads(before)
    if not elmo.same_in_any_batch:
        pytest.skip("torch has no such kernel here")
    for threads in found[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(found[0], threads, strict=True))


def test_lower_layers_alone_do_not_run_the_higher_ones():
    packed = PackedBiLM(TINY, dict(frozen_bilm(TINY).state_dict()))
    for lstm in packed.lstms:
        lstm.layers = [lstm.layers[0], None]  # type: ignore[list-item]
    activations, _ = packed.read([["the", "cat"]], depth=1)
    assert len(activations) == 2


def test_a_model_that_was_read_under_inference_mode_works(tmp_path: Path):
    with torch.inference_mode():
        elmo = Elmo(write_toy(tmp_path / "toy"))
        inside = elmo.encode([["the", "cat"]])[0]
        assert elmo.bilm.config == elmo.config
        np.testing.assert_array_equal(elmo.encode([["the", "cat"]])[0], inside)
    np.testing.assert_array_equal(elmo.encode([["the", "cat"]])[0], inside)


MEMORY = """
import sys
from pathlib import Path
from elmokit import Elmo

def megabytes(field):
    return int(Path("/proc/self/status").read_text().split(f"{field}:")[1].split()[0]) / 1024

Elmo.from_pretrained(sys.argv[1], precision="bfloat16").encode([["a"]])  # libraries, and kernels that are tried
before = megabytes("VmRSS")
Path("/proc/self/clear_refs").write_text("5")  # forget the peak
elmo = Elmo.from_pretrained(sys.argv[2], precision="bfloat16")
elmo.encode([["a"]])
print(megabytes("VmHWM") - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("write", [write_native, write_bilm_tf])
def test_packing_for_bfloat16_never_holds_the_weights_in_float32(write: Any, forks: Any, tmp_path: Path):
    config = BiLMConfig(filters=((1, 32), (2, 32)), character_dim=8, projection_dim=512, lstm_dim=1024, num_layers=3)
    for name, sizes in (("small", {"projection_dim": 16, "lstm_dim": 64}), ("large", {})):
        bilm = random_bilm(replace(config, **sizes))  # FBGEMM pads inputs to multiples of 512
        write(tmp_path / name, to_weights(bilm))
    weights = max(path.stat().st_size for path in tmp_path.rglob("*")) / 2**20
    assert weights > 100
    done = forks.run_script(MEMORY, str(tmp_path / "small"), str(tmp_path / "large"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 0.75 * weights  # half stays, and one matrix needs the rest


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_autocast_around_it_changes_nothing(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "_works", lambda make: False)  # leaves the kernels that GPUs use
    sentences = [["the", "cat"], ["sat"]]
    bilm = frozen_bilm(TINY)
    with torch.autocast("cpu", dtype=torch.float16):
        found = Elmo(bilm, precision=precision).encode(sentences)
    for one, other in zip(found, Elmo(bilm, precision=precision).encode(sentences), strict=True):
        np.testing.assert_array_equal(one, other)
