"""What the command line names becomes a system: a model, its random control, word vectors, or vectors in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.vectors.save_vectors import save_vectors
from paper.models import random_elmo
from paper.systems import open_system
from toy_bilm import TINY, random_bilm

SENTENCE = ["the", "bank"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, word vectors, and a file of vectors."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write_native(tmp_path / "tiny", to_stored(random_bilm()))
    (tmp_path / "glove.txt").write_text("the 1 0\nbank 0 2\n")
    save_vectors(tmp_path / "cove.npy", [SENTENCE], [np.ones((2, 2, 4), np.float16)])
    return tmp_path


@pytest.mark.parametrize(
    ("given", "name", "is_bilm", "num_layers"),
    [
        ("{}/tiny", "tiny", True, 3),
        ("random:{}/tiny", "tiny, random weights", False, 3),
        ("static:{}/glove.txt", "static, glove", False, 1),
        ("{}/cove.npy", "cove", False, 2),
    ],
)
def test_a_system_is_opened_by_its_name_or_ending(given: str, name: str, is_bilm: bool, num_layers: int, folder: Path):
    system = open_system(given.format(folder), word_vectors=folder / "glove.txt")  # which these do not read
    assert (system.name, system.is_bilm, system.layers.num_layers) == (name, is_bilm, num_layers)
    assert system.layers([SENTENCE]).shape[:3] == (num_layers, 1, 2)


def test_what_is_not_there_or_lacks_its_word_vectors_is_refused(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no model 'mini-em'"):
        open_system("mini-em")
    with pytest.raises(ValueError, match="cove reads word vectors"):
        open_system(f"cove:{tmp_path}")


def test_random_weights_depend_on_the_seed_and_on_nothing_else():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first = random_elmo(TINY, seed=0).fingerprint()
    assert torch.equal(torch.get_rng_state(), before)
    assert random_elmo(TINY, seed=0).fingerprint() == first != random_elmo(TINY, seed=1).fingerprint()
