"""Models in each format that elmokit only reads: their vectors are those of the programs that wrote them."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit import Elmo, inspect
from elmokit.scoring import perplexity as scoring_perplexity
from elmokit.text.characters import padded
from toy_stored import read_stored

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
TOLERANCE = 1e-5
SENTENCES: list[list[str]] = json.loads((FIXTURES / "sentences.json").read_text())

Array = np.ndarray[Any, np.dtype[np.float32]]

pytestmark = pytest.mark.filterwarnings("ignore:.* tokens are longer than")


def expected(name: str, key: str, *, number: int = len(SENTENCES)) -> list[Array]:
    with np.load(FIXTURES / name) as arrays:
        return [arrays[f"{key}/{index}"] for index in range(number)]


def layers_of(name: str) -> list[Array]:
    return Elmo.from_pretrained(FIXTURES / name, device="cpu").encode(SENTENCES, layers="all")


def largest_difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    assert [array.shape for array in ours] == [array.shape for array in theirs]
    largest = max(float(np.abs(mine - other).max()) for mine, other in zip(ours, theirs, strict=True))
    print(f"largest difference: {largest:.1e}")
    return largest


ALLENNLP = {name: name for name in ("frozen", "finetuned_projected", "fixed_mix")}
ALLENNLP |= {"frozen_old_pickle": "frozen", "layout_0.9": "frozen"}


@pytest.mark.parametrize("archive", ALLENNLP)
def test_an_archive_of_allennlp_gives_the_layers_of_its_own_bilm_and_the_vectors_of_its_token_embedder(archive: str):
    path = f"allennlp/{archive}.model.tar.gz"
    layers, theirs = layers_of(path), f"allennlp/{ALLENNLP[archive]}.expected.npz"
    assert largest_difference(layers, expected(theirs, "layers")) <= TOLERANCE
    if archive in ("frozen", "fixed_mix", "layout_0.9"):
        (mix,) = inspect(FIXTURES / path).mixes
        mixed = [mix(sentence) for sentence in layers]
        assert largest_difference(mixed, expected(theirs, "token_embedder")) <= TOLERANCE


@pytest.mark.parametrize(
    ("module", "keys"), [("elmo_token_embedder", ["token_embedder"]), ("elmo_two_mixes", ["elmo_0", "elmo_1"])]
)
def test_the_state_dict_of_a_module_gives_the_vectors_of_the_module(module: str, keys: list[str]):
    path = FIXTURES / f"allennlp/{module}.state_dict.th"
    layers = layers_of(str(path))
    mixes = inspect(path).mixes
    with np.load(FIXTURES / "allennlp/modules.expected.npz") as arrays:
        for key, mix in zip(keys, mixes, strict=True):
            theirs = [row[: sentence.shape[1]] for row, sentence in zip(arrays[key], layers, strict=True)]
            assert largest_difference([mix(sentence) for sentence in layers], theirs) <= TOLERANCE


def test_a_cached_vocabulary_of_allennlp_changes_nothing():
    first, second = (f"allennlp/elmo_token_embedder{suffix}.state_dict.th" for suffix in ("", "_cached_vocab"))
    assert read_stored(FIXTURES / first).config == read_stored(FIXTURES / second).config
    assert len(layers_of(second)) == len(SENTENCES)


def test_options_that_are_not_in_an_archive_are_a_risk():
    assert "relu, clipping at 3" in str(inspect(FIXTURES / "allennlp/frozen.model.tar.gz"))
    assert inspect(FIXTURES / "allennlp/layout_0.9.model.tar.gz").risks == []


@pytest.mark.parametrize(
    "archive", ["typical", "no_vocab", "vocab_gz", "n_characters_261", "other_hdf5_name", "in_folder"]
)
def test_a_zip_of_nlpl_gives_the_vectors_of_simple_elmo(archive: str):
    elmo = Elmo.from_pretrained(FIXTURES / f"nlpl/{archive}.zip", device="cpu")
    ours = elmo.encode(SENTENCES, layers="all")
    assert largest_difference(ours, expected("nlpl/typical.expected.npz", "cold")) <= TOLERANCE
    assert (elmo.vocabulary is None) == (archive == "no_vocab")


@pytest.mark.parametrize("name", ["char", "char_1layer", "forward_only", "word", "word_shared"])
def test_the_softmax_of_a_checkpoint_gives_the_perplexities_of_bilm_tf(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Their test() takes the mean of the losses of both directions, so the geometric mean of the perplexities."""
    text = tmp_path / "text"  # Python's split(), which they use, takes U+3000 for white space
    text.write_text((FIXTURES / "checkpoints/test_lines.txt").read_text().replace("\u3000", " "))
    theirs = json.loads((FIXTURES / f"checkpoints/{name}.perplexity.json").read_text())
    for batch_size in (1, 3):
        monkeypatch.setattr(scoring_perplexity, "CARRIED_ROWS", batch_size)
        ours = scoring_perplexity.perplexity(str(FIXTURES / "checkpoints" / name), [text], carry_state=True)
        sides = [side.perplexity for side in (ours.forward, ours.backward) if side is not None]
        expected_mean = theirs[f"batch_size_{batch_size}"]["average_perplexity"]
        assert math.prod(sides) ** (1 / len(sides)) == pytest.approx(expected_mean, rel=2e-6)
        assert ours.num_predictions == batch_size * theirs[f"batch_size_{batch_size}"]["n_batches"]


@pytest.mark.parametrize("name", ["char", "word", "word_shared"])
def test_a_checkpoint_and_the_pair_dumped_from_it_give_the_vectors_of_bilm_tf(name: str):
    theirs = expected(f"checkpoints/{name}.expected.npz", "cold")
    pair = FIXTURES / f"checkpoints/{name}/options.json", FIXTURES / f"checkpoints/{name}.dumped.hdf5"
    ours = Elmo.from_pretrained(*pair, device="cpu").encode(SENTENCES, layers="all")
    in_a_zip = [layers_of("nlpl/checkpoint.zip")] if name == "char" else []
    for found in (ours, layers_of(f"checkpoints/{name}"), *in_a_zip):
        assert largest_difference(found, theirs) <= TOLERANCE


def test_cached_token_vectors_give_the_vectors_of_their_characters(tmp_path: Path):
    source = FIXTURES / "checkpoints"
    files = ["char/options.json", "char/vocab.txt", "char.dumped.hdf5", "char.token_embeddings.hdf5"]
    folder = Path(shutil.copytree(source / "char", tmp_path / "char", ignore=shutil.ignore_patterns("model*")))
    for name in files[2:]:
        shutil.copy(source / name, folder)
    cached = Elmo.from_pretrained(folder / "options.json", folder / "char.token_embeddings.hdf5", device="cpu")
    assert cached.vocabulary is not None
    words = [[token for token in cached.vocabulary.tokens if token not in ("<S>", "</S>", "<UNK>")]]
    characters = Elmo.from_pretrained(folder, device="cpu").encode(words, layers="all")
    assert largest_difference(cached.encode(words, layers="all"), characters) <= TOLERANCE


@pytest.mark.parametrize(
    "name", ["char_word", "char_word_newzip", "word_only", "clip_zero", "char_word.zip", "char_word_in_folder.zip"]
)
def test_a_model_of_elmoformanylangs_gives_all_of_its_layers(name: str):
    elmo = Elmo.from_pretrained(FIXTURES / "many_langs" / name, device="cpu")
    path = f"many_langs/{'char_word' if name.endswith('.zip') else name}.expected.npz"
    with np.load(FIXTURES / path) as arrays:
        cut_words = arrays["cut_words"]
    words = json.loads((FIXTURES / "many_langs/cut_words.json").read_text())
    ours, average = elmo.encode([*SENTENCES, words], layers="all"), elmo.encode(SENTENCES, layers="average")
    assert largest_difference(ours, [*expected(path, "layer-2"), cut_words]) <= TOLERANCE
    assert largest_difference(average, expected(path, "layer-1")) <= TOLERANCE


def test_the_module_gives_what_the_packed_model_gives():
    """With gradients and in batches, as task models use it."""
    for name in ("many_langs/char_word", "checkpoints/word"):
        bilm = Elmo.from_pretrained(FIXTURES / name, device="cpu").bilm
        ids = padded([["<S>", *sentence, "</S>"] for sentence in SENTENCES], bilm.spelling.rows)
        layers = bilm(torch.from_numpy(ids)).layers.detach().numpy()
        ours = [row[:, 1 : 1 + len(sentence)] for row, sentence in zip(layers.swapaxes(0, 1), SENTENCES, strict=True)]
        assert largest_difference(ours, layers_of(name)) <= TOLERANCE
