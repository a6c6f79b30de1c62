import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit.elmo import elmo as module
from elmokit.elmo.elmo import Elmo
from elmokit.elmo.encoding import TOKENS_PER_SENTENCE, batches_by_length, begun_early
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.packed_bilm import PackedBiLM, TokenCache
from elmokit.text.spelling import ByteSpelling
from elmokit.vectors.cache import CachedActivations
from refusals import refused_options
from toy_bilm import TINY, VOCABULARY, random_bilm, toy_elmo, toy_parts, write_toy

SENTENCES = [["the", "cat", "sat", "."], ["the", "the"], [], ["밥"], ["a", "cat"] * 9]
ELMO = Elmo(random_bilm())


def assert_same(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    assert [array.shape for array in ours] == [array.shape for array in theirs]
    assert all(np.abs(a - b).max(initial=0.0) <= 2e-6 for a, b in zip(ours, theirs, strict=True))


def test_one_float32_array_for_each_sentence_in_input_order_with_progress_if_asked_for(
    capsys: pytest.CaptureFixture[str],
):
    vectors = ELMO.encode(SENTENCES)
    assert [array.shape for array in vectors] == [(4, 12), (2, 12), (0, 12), (1, 12), (18, 12)]
    assert all(array.dtype == np.float32 and array.base is None for array in vectors)
    assert_same(vectors, [ELMO.encode([sentence])[0] for sentence in SENTENCES])
    assert_same(ELMO.encode(SENTENCES[::-1], batch_size=2), vectors[::-1])
    ELMO.encode(SENTENCES)
    assert capsys.readouterr().err == ""
    ELMO.encode(SENTENCES, show_progress_bar=True)
    assert "5/5" in capsys.readouterr().err


def test_layers_by_name_and_number_also_of_numpy():
    every = ELMO.encode(SENTENCES, layers="all")
    assert [array.shape for array in every] == [(3, len(sentence), 12) for sentence in SENTENCES]
    numbers: list[Any] = [0, 1, 2, np.int64(1), np.uint8(1), np.array(1)]
    for number in numbers:
        assert_same(ELMO.encode(SENTENCES, layers=number), [array[number] for array in every])
        assert_same(ELMO.encode(SENTENCES, layers="all", batch_size=number + 1), every)
    assert_same(ELMO.encode(SENTENCES, layers="top"), [array[2] for array in every])
    assert_same(ELMO.encode(SENTENCES), [array[2] for array in every])
    assert_same(ELMO.encode(SENTENCES, layers="average"), [array.mean(axis=0) for array in every])
    for weights in ([0.1, 0.3, 0.6], (1, 1, 1), np.array([0.0, 2.0, -1.0], np.float32)):
        sums = [np.einsum("l,lte->te", np.asarray(weights, np.float32), array) for array in every]
        assert_same(ELMO.encode(SENTENCES, layers=weights), sums)  # pyright: ignore


def test_refuses_layers_that_are_not_there_and_other_poolings_and_sizes(snapshot: SnapshotAssertion):
    layers = [3, np.int64(3), -1, True, None, "bottom", 1.0, [0], [0.5, 0.5], [1, 2, np.nan], [*"abc"]]
    given: list[dict[str, Any]] = [{"layers": value} for value in layers]
    given += [{"pooling": "sum"}, *({"batch_size": value} for value in (0, 2.5, "8", None))]
    assert refused_options(partial(ELMO.encode, SENTENCES), given) == snapshot
    with pytest.raises(ValueError, match="layers is .*True.* to 2"):
        ELMO.encode(SENTENCES, layers=np.bool_(True))  # pyright: ignore


def test_pooling_is_over_the_real_tokens_and_zero_without_any():
    vectors = ELMO.encode(SENTENCES)
    mean, largest = ELMO.encode(SENTENCES, pooling="mean"), ELMO.encode(SENTENCES, pooling="max")
    assert mean.shape == largest.shape == (5, 12) and mean.dtype == np.float32
    for index in (0, 1, 3, 4):
        np.testing.assert_allclose(mean[index], vectors[index].mean(axis=0), atol=2e-6)
        np.testing.assert_allclose(largest[index], vectors[index].max(axis=0), atol=2e-6)
    assert not mean[2].any() and not largest[2].any()
    assert ELMO.encode(SENTENCES, pooling="mean", layers="all").shape == (5, 3, 12)


def test_strings_are_tokenised_one_gives_its_array_and_none_gives_none():
    (vectors,) = ELMO.encode(["The cat sat."])
    assert_same([vectors], ELMO.encode([["The", "cat", "sat", "."]]))
    assert_same([ELMO.encode("The cat sat.")], [vectors])
    assert ELMO.encode("The cat sat.", pooling="mean").shape == (12,)
    assert ELMO.encode("").shape == (0, 12)
    assert ELMO.encode([]) == []
    assert ELMO.encode([], pooling="mean").shape == (0, 12)
    assert ELMO.encode([], pooling="mean", layers="all").shape == (0, 3, 12)
    assert ELMO.encode_streams([]) == [] and ELMO.encode_streams([[], []]) == [[], []]


def test_batches_hold_sentences_of_similar_length_within_the_budget():
    full = TOKENS_PER_SENTENCE
    lengths = [5, 3000, 0, full, full + 1, 1, full, full, full, 2]
    batches = list(batches_by_length(lengths, batch_size=4))
    assert sorted(index for batch in batches for index in batch) == list(range(10))
    assert batches[0] == [1] and batches[1] == [4, 3, 6]  # a fourth would be padded to 4 * (full + 1) tokens
    for batch in batches[1:]:
        assert len(batch) <= 4
        assert len(batch) * max(lengths[index] for index in batch) <= 4 * TOKENS_PER_SENTENCE
    for_gpu = [len(batch) for batch in batches_by_length([full] * 9 + [1] * 900, batch_size=1, for_gpu=True)]
    assert for_gpu == [8, 8, 256, 256, 256, 125]


def test_cut_tokens_are_counted_in_one_warning():
    elmo = Elmo(ELMO.bilm)
    sentences = [["a" * 48, "a" * 49], ["밥" * 16, "밥" * 17, "b"]]
    with pytest.warns(UserWarning, match="2 of 5 tokens are longer than the 48 bytes"):
        vectors = elmo.encode(sentences)
    elmo.encode(sentences)  # warnings are errors in these tests
    np.testing.assert_allclose(elmo.encode([["a" * 48]])[0], elmo.encode([["a" * 1_000_000]])[0], atol=2e-6)
    assert len(vectors[1]) == 3


def test_streams_carry_their_state_each_for_itself():
    one, two = [["the", "cat"], ["sat"], ["."]], [["밥"]]
    first, second = ELMO.encode_streams([two, one])
    assert [len(array) for array in first] == [1] and [len(array) for array in second] == [2, 1, 1]
    assert_same(first, ELMO.encode(two))
    assert_same(second, ELMO.encode_streams([one])[0])
    assert_same(second[:1], ELMO.encode(one)[:1])
    assert np.abs(second[1] - ELMO.encode(one)[1]).max() > 1e-3
    with pytest.raises(ValueError, match="the sentences are 'the cat' .str.; expected a list of sentences"):
        ELMO.encode_streams(["the cat"])


def test_distinct_tokens_are_encoded_once_and_forgotten_when_others_come(monkeypatch: pytest.MonkeyPatch):
    bilm = random_bilm()
    seen: list[int] = []
    encode = bilm.char_encoder.forward
    monkeypatch.setattr(bilm.char_encoder, "forward", lambda ids: seen.append(len(ids)) or encode(ids))
    encoder = TokenCache(bilm.char_encoder, spelling=ByteSpelling(50))
    encoder.max_tokens = 3
    vectors, rows = encoder.distinct([["a", "b", "a"], ["b"]])
    assert seen == [2] and len(vectors) == 2 and rows.tolist() == [0, 1, 0, 1]
    encoder.distinct([["c", "a"]])
    encoder.distinct([["d"]])  # b was used longest ago
    encoder.distinct([["a", "c", "d"]])
    assert seen == [2, 1, 1]
    encoder.distinct([["b", "a"]])
    assert seen == [2, 1, 1, 1]
    encoder.distinct([["e", "f", "g", "h"]])  # more than it can remember
    assert seen == [2, 1, 1, 1, 4]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_vectors_are_float32_whatever_the_dtype_of_the_weights_is(dtype: torch.dtype):
    bilm = random_bilm().to(dtype)
    (vectors,) = Elmo(bilm).encode([["a", "cat"]])
    assert_same([vectors], copy.deepcopy(Elmo(bilm)).encode([["a", "cat"]]))
    assert Elmo(bilm).fingerprint() == copy.deepcopy(Elmo(bilm)).fingerprint()
    assert_same([vectors], Elmo(bilm.float()).encode([["a", "cat"]]))


def test_an_elmo_can_be_pickled_and_copied_before_and_after_use_and_trained_if_it_was(tmp_path: Path):
    elmo = Elmo(write_toy(tmp_path / "toy"), device="cpu")
    for prepare in (lambda: None, lambda: elmo.encode("Some words.")):
        prepare()
        for other in (pickle.loads(pickle.dumps(elmo)), copy.deepcopy(elmo)):
            assert other.fingerprint() == elmo.fingerprint() and other.vocabulary == elmo.vocabulary
            np.testing.assert_array_equal(other.encode("I sat on the bank."), elmo.encode("I sat on the bank."))
    assert repr(other) == repr(elmo)
    assert not any(parameter.requires_grad for parameter in elmo.bilm.parameters())
    assert all(parameter.requires_grad for parameter in copy.deepcopy(Elmo(random_bilm())).bilm.parameters())


class SoftmaxOfGPU(Softmax):
    """Stands for a softmax on a GPU: a process without that GPU cannot unpickle it."""

    def on(self, device: torch.device) -> Softmax:
        return Softmax.of(self.weight.detach(), self.bias.detach()) if device.type == "cpu" else self

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise RuntimeError("Attempting to deserialize object on a CUDA device, but there is none")


def test_a_softmax_on_a_gpu_is_pickled_on_the_cpu():
    bilm, softmax = toy_parts()
    of_gpu = SoftmaxOfGPU(num_tokens=len(VOCABULARY), dim=TINY.projection_dim)
    of_gpu.load_state_dict(softmax.state_dict())
    other = pickle.loads(pickle.dumps(Elmo(bilm, VOCABULARY, softmax=of_gpu)))
    (expected,), (found,) = (elmo.surprisal([["a", "b"]]) for elmo in (toy_elmo(), other))
    np.testing.assert_array_equal(found.bits(), expected.bits())


def test_a_saved_model_is_opened_by_its_path_has_its_vocabulary_and_may_be_of_half_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    toy_elmo().save("~/tiny")
    again = Elmo(tmp_path / "tiny")
    assert again.fingerprint() == toy_elmo().fingerprint() and again.vocabulary == VOCABULARY
    bilm = random_bilm(replace(TINY, lstm_dim=256)).half().float()
    for dtype in ("float16", "float32"):
        Elmo(bilm).save(tmp_path / dtype, dtype=dtype)
        assert Elmo(tmp_path / dtype).fingerprint() == Elmo(bilm).fingerprint()
    half, whole = ((tmp_path / dtype / "model.safetensors").stat().st_size for dtype in ("float16", "float32"))
    assert half < 0.6 * whole


@pytest.mark.usefixtures("on_cpu")
def test_the_repr_says_what_it_is_and_a_clip_is_one_whether_or_not_it_is_whole():
    elmo = Elmo("Small-EN")
    assert repr(elmo) == "<Elmo 'Small-EN': 10.1 M parameters, 3 layers of 512, float32 on cpu>"
    assert elmo.fingerprint() == Elmo().fingerprint()
    assert repr(ELMO).startswith("<Elmo of a biLM: 0.0 M parameters, 3 layers of 12, float32 on")
    assert (ELMO.dim, ELMO.num_layers) == (12, 3)
    assert replace(ELMO.config, cell_clip=3) == replace(ELMO.config, cell_clip=3.0)
    assert repr(replace(ELMO.config, cell_clip=3)) == repr(replace(ELMO.config, cell_clip=3.0))


def test_it_moves_between_devices_that_are_there():
    elmo = Elmo(random_bilm())
    expected = elmo.encode(SENTENCES)
    assert elmo.to("cpu") is elmo and elmo.device == torch.device("cpu")
    assert_same(elmo.encode(SENTENCES), expected)
    with pytest.raises(ValueError, match="device 'nonsense' cannot be used here; available: cpu"):
        elmo.to("nonsense")


def test_int8_on_a_gpu_is_refused_before_anything_is_read_and_a_copy_is_on_the_cpu_where_its_gpu_is_not(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    message = r"^precision 'int8' works only on the CPU, not on cuda; give device='cpu' \(--device cpu\), or"
    with pytest.raises(ValueError, match=message):
        Elmo("no-model", precision="int8")
    with pytest.raises(ValueError, match=message):
        Elmo(random_bilm(), precision="int8").to("cuda")
    elmo = Elmo(random_bilm())
    elmo._device = torch.device("cuda", 3)  # pyright: ignore[reportPrivateUsage]
    assert copy.deepcopy(elmo).device == torch.device("cpu")


def test_tokens_offsets_and_vectors_come_together():
    one, two, three = ELMO.encode_sentences(["The  cat can't.", ["a", "cat"], ""], layers="all")
    assert one.tokens == ELMO.tokenize("The  cat can't.") == ["The", "cat", "ca", "n't", "."]
    assert one.offsets is not None and [one.text[start:end] for start, end in one.offsets] == one.tokens
    assert two.text is None and two.offsets is None and len(two) == 2
    assert_same([one.vectors, two.vectors], ELMO.encode([one.tokens, two.tokens], layers="all"))
    assert len(three) == 0 and three.offsets == [] and three.vectors.shape == (3, 0, 12)
    assert repr(two) == "EncodedSentence(['a', 'cat'], vectors (3, 2, 12))"
    assert ELMO.encode_sentences("A cat.")[0].tokens == ["A", "cat", "."]


def test_normalised_vectors_have_length_1_similarities_are_their_products_and_tensors_come_when_asked_for():
    pooled = ELMO.encode(SENTENCES, pooling="mean", normalize_embeddings=True)
    lengths = np.linalg.norm(pooled, axis=-1)
    np.testing.assert_allclose(lengths, [1, 1, 0, 1, 1], atol=1e-6)
    similarity = Elmo.similarity(ELMO.encode(SENTENCES, pooling="mean"), pooled[:2])
    np.testing.assert_allclose(similarity, pooled @ pooled[:2].T, atol=1e-6)
    assert Elmo.similarity(pooled[0], pooled[0]) == pytest.approx(1.0)
    large = (pooled * 300).astype(np.float16)  # as in the files of save_vectors
    assert Elmo.similarity(large[0], large[0]) == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match=r"vectors of shapes \(1, 3\) and \(2, 4\); expected .* of equal widths"):
        Elmo.similarity(np.ones((1, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"vectors of shapes \(3, 2, 12\) and \(2, 12\); expected \(N, width\)"):
        Elmo.similarity(ELMO.encode("the cat", layers="all"), ELMO.encode("the cat"))
    for layers in ("top", "all"):
        sentences: Any = ELMO.encode(SENTENCES, layers=layers)
        with pytest.raises(ValueError, match="sentences of different lengths do not form one array; give one, or pool"):
            Elmo.similarity(sentences, sentences)
    vectors = ELMO.encode(SENTENCES, convert_to_tensor=True)
    assert all(isinstance(tensor, torch.Tensor) for tensor in vectors)
    assert_same([tensor.numpy() for tensor in vectors], ELMO.encode(SENTENCES))
    assert ELMO.encode(SENTENCES, pooling="max", convert_to_tensor=True).shape == (5, 12)
    assert ELMO.encode("the cat", convert_to_tensor=True).shape == (2, 12)


def test_weights_in_the_place_of_the_vocabulary_are_refused(tiny_bilms: tuple[Path, Path]):
    weights: Any = tiny_bilms[1] / "weights.hdf5"
    with pytest.raises(ValueError, match=r"give the weights of an options\.json as weights=\.\.\., or use from"):
        Elmo(tiny_bilms[0], weights)


def test_a_model_whose_files_change_is_never_mixed_with_the_new_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    sentences, folder = [["the", "bank"]], tmp_path / "model"
    ELMO.save(folder)
    monkeypatch.chdir(tmp_path)
    elmo = Elmo("model", device="cpu")
    vectors = elmo.encode(sentences)[0]
    monkeypatch.chdir(tmp_path.parent)  # a relative path still leads to it
    assert np.array_equal(pickle.loads(pickle.dumps(elmo)).encode(sentences)[0], vectors)
    fingerprint, module = elmo.fingerprint(), elmo.bilm
    (folder / "model.safetensors").unlink()
    Elmo(random_bilm(seed=6)).save(tmp_path / "other")
    (tmp_path / "other" / "model.safetensors").rename(folder / "model.safetensors")
    with pytest.raises(ValueError, match="the files of model have changed since it was loaded; load it again"):
        elmo.surprisal_model()
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"model\.safetensors"):
        elmo.surprisal_model()
    assert elmo.fingerprint() == fingerprint and elmo.bilm is module
    for same in (elmo, pickle.loads(pickle.dumps(elmo))):
        assert np.array_equal(same.encode(sentences)[0], vectors)


@pytest.mark.parametrize("is_of_files", [True, False])
def test_a_weight_that_is_edited_in_any_way_is_noticed_and_no_cache_is_poisoned(tmp_path: Path, is_of_files: bool):
    """Edits one number of many, edits `.data`, or replaces a tensor, before or after asking for the fingerprint."""
    ELMO.save(tmp_path / "model")
    elmo = Elmo(tmp_path / "model", device="cpu") if is_of_files else Elmo(random_bilm())
    sentences = [["a", "cat"], ["b"]]
    cache = CachedActivations(elmo, folder=tmp_path / "cache")
    cache.add([["early"]])
    before, seen = elmo.encode(sentences), [elmo.fingerprint()]
    embedding, forward = elmo.bilm.char_encoder.embedding, elmo.bilm.forward_lstm
    assert elmo.fingerprint() == seen[0] and np.array_equal(elmo.encode(sentences)[0], before[0])
    for edit in (
        lambda: embedding.weight.data[ord("a") + 1].fill_(0),
        lambda: forward.layers[0].bias.data[3:4].add_(1.0),
        lambda: forward.layers[1].input_weight.data.copy_(forward.layers[1].input_weight.data.flip(0)),
        lambda: embedding.weight.mul_(2),
        lambda: elmo.bilm.load_state_dict({name: -tensor for name, tensor in elmo.bilm.state_dict().items()}),
        lambda: elmo.bilm.load_state_dict({n: 3 * tensor for n, tensor in elmo.bilm.state_dict().items()}, assign=True),
        lambda: setattr(embedding, "weight", torch.nn.Parameter(embedding.weight + 1)),
    ):
        with torch.no_grad():
            edit()
        after, expected = elmo.encode(sentences), Elmo(elmo.bilm).encode(sentences)
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(after, expected, strict=True))
        assert elmo.fingerprint() == Elmo(elmo.bilm).fingerprint() not in seen
        assert not np.array_equal(after[0], before[0])
        before, seen = after, [*seen, elmo.fingerprint()]
    with pytest.raises(ValueError, match="weights have changed since"):
        cache.add([["banana"]])
    clean = Elmo(random_bilm())
    again = CachedActivations(clean, folder=tmp_path / "cache")
    again.add([["banana"], ["early"]])
    whole = clean.encode([["banana"], ["early"]], layers="all")
    for number, token in enumerate(("banana", "early")):
        np.testing.assert_allclose(again([[token]])[:, 0].numpy(), whole[number], atol=1e-2)


def test_threads_may_be_the_first_to_use_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    ELMO.save(tmp_path / "tiny")
    monkeypatch.setattr(
        module, "PackedBiLM", lambda *given, **named: (PackedBiLM(*given, **named), time.sleep(0.01))[0]
    )
    with ThreadPoolExecutor(4) as threads:
        elmo = Elmo(tmp_path / "tiny")
        found = list(threads.map(lambda _: elmo._packed_bilm(), range(4)))  # pyright: ignore[reportPrivateUsage]
    assert len(set(map(id, found))) == 1 and elmo.fingerprint() == ELMO.fingerprint()


def test_threads_share_a_model_whose_memory_of_tokens_is_full():
    elmo = Elmo(random_bilm())
    elmo._packed_bilm().token_cache.max_tokens = 8  # pyright: ignore[reportPrivateUsage]
    texts = [[[f"{thread}{(start + more) % 12}" for more in range(9)] for start in range(40)] for thread in "abab"]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(elmo.encode, texts))
    assert all(np.array_equal(one, other) for one, other in zip(found[0], found[2], strict=True))


def test_while_one_batch_is_taken_the_next_one_is_computed():
    begun: list[int] = []
    batches = (begun.append(number) or number for number in range(4))
    taken = [(number, len(begun)) for number in begun_early(batches, ahead=1)]
    assert taken == [(0, 2), (1, 3), (2, 4), (3, 4)]


@pytest.mark.cuda
@pytest.mark.parametrize(("precision", "within"), [("float32", 1e-4), ("bfloat16", 0.05)])
def test_a_gpu_gives_the_vectors_of_the_cpu(precision: Any, within: float):
    texts = [[f"w{(7 * number + place) % 90}" for place in range(number % 40)] for number in range(2500)]
    elmo = Elmo(random_bilm(), precision=precision)
    expected = elmo.encode(texts, layers="all")
    for one, other in zip(expected, elmo.to("cuda").encode(texts, layers="all"), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=within)


def test_a_native_model_is_loaded_without_the_library_of_hdf5(forks: Any, tmp_path: Path):
    write_toy(tmp_path / "toy")
    script = "import sys; from elmokit import Elmo; Elmo('toy').encode(['the cat']); print('h5py' in sys.modules)"
    done = forks.run_script(script, folder=tmp_path)
    assert done.stdout == "False\n", done.stderr
