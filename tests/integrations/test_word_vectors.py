"""Static vectors as layers: one per word, whatever its sentence."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.integrations.word_vectors import open_static
from paper.comparators.word_vector_training import train_fasttext
from unpadded import unpadded


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2\ncat 3 4\nUS 5 6\n")
    return path


def test_a_word_has_the_same_vector_in_every_sentence(glove: Path):
    layers = open_static(str(glove))
    assert (layers.num_layers, layers.dim) == (1, 2)
    first, second = unpadded(layers, [["the", "cat"], ["cat"]])
    np.testing.assert_array_equal(first, [[[1, 2], [3, 4]]])
    np.testing.assert_array_equal(second, [[[3, 4]]])


def test_an_unknown_word_is_looked_up_in_lower_case_and_otherwise_zero(glove: Path):
    layers = open_static(str(glove))
    np.testing.assert_array_equal(
        unpadded(layers, [["The", "US", "us", "dog"]])[0][0], [[1, 2], [5, 6], [0, 0], [0, 0]]
    )


def test_batches_are_padded_and_sentences_may_be_empty(glove: Path):
    layers = open_static(str(glove))
    layers.add([["the", "cat"]])
    batch = layers([["the", "cat"], [], ["cat"]])
    assert torch.equal(batch[0, 1], torch.zeros(2, 2))
    assert torch.equal(batch[0, 2], torch.tensor([[3.0, 4.0], [0.0, 0.0]]))


def test_the_fingerprint_is_of_the_contents(glove: Path):
    before = open_static(str(glove)).fingerprint()
    assert open_static(str(glove)).fingerprint() == before
    glove.write_text("the 1 3\n")
    assert open_static(str(glove)).fingerprint() != before


def test_fasttext_makes_unknown_words_of_their_ngrams(tmp_path: Path):
    pytest.importorskip("gensim")
    (tmp_path / "shard.txt").write_text("believe in the believable\n" * 5)
    settings = ["dim=4", "min_count=1", "bucket=20", "subsample=0"]
    train_fasttext([tmp_path / "shard.txt"], tmp_path / "model.bin", settings)
    layers = open_static(str(tmp_path / "model.bin"))
    assert layers.dim == 4
    known, empty = unpadded(layers, [["unbelievable", "in"], []])
    assert known.shape == (1, 2, 4)
    assert empty.shape == (1, 0, 4)
    assert known[0].any(axis=1).all()


def test_a_missing_file_is_an_error(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="there is no such file; expected word vectors"):
        open_static(str(tmp_path / "none.vec"))
