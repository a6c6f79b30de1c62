"""Word vectors as one frozen layer: the same vector in every sentence, lower-cased if need be, zero if unknown."""

from pathlib import Path

import pytest
import torch

from elmokit.vectors.word_vector_source import WordVectorSource


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 0\nbank 0 2\nBank 3 3\n")
    return path


def test_a_word_has_its_vector_or_that_of_its_lower_case_form_or_zeros_and_is_read_once(vectors: Path):
    layers = WordVectorSource(vectors)
    assert (layers.num_layers, layers.dim) == (1, 2)
    batch = layers([["The", "Bank", "of"], ["bank"], []])
    expected = torch.tensor([[[1.0, 0], [3, 3], [0, 0]], [[0, 2], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]])
    assert torch.equal(batch[0], expected)
    layers = WordVectorSource(vectors)
    layers.add([["the", "river"]])
    vectors.unlink()
    assert torch.equal(layers([["river", "the"]])[0, 0], torch.tensor([[0.0, 0], [1, 0]]))


def test_the_fingerprint_is_of_the_contents(vectors: Path, tmp_path: Path):
    copy = tmp_path / "copy.txt"
    copy.write_bytes(vectors.read_bytes())
    before = WordVectorSource(vectors).fingerprint()
    assert WordVectorSource(copy).fingerprint() == before
    copy.write_text("the 1 0\n")
    assert WordVectorSource(copy).fingerprint() != before
