"""What the command line names becomes a system: a model, its random control, word vectors, or vectors in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.vectors.save_vectors import save_vectors
from paper.systems import open_system
from toy_bilm import random_bilm

SENTENCE = ["the", "bank"]


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_native(tmp_path / "tiny", to_stored(random_bilm()))
    return tmp_path / "tiny"


def test_a_model_and_its_control_have_the_same_shape_and_other_vectors(model: Path):
    learnt, control = open_system(str(model)), open_system(f"random:{model}")
    assert (learnt.name, learnt.is_bilm) == ("tiny", True)
    assert (control.name, control.is_bilm) == ("tiny, random weights", False)
    assert learnt.layers([SENTENCE]).shape == control.layers([SENTENCE]).shape == (3, 1, 2, 12)
    assert learnt.layers.fingerprint() != control.layers.fingerprint()


def test_word_vectors_are_one_layer(tmp_path: Path):
    (tmp_path / "glove.txt").write_text("the 1 0\nbank 0 2\n")
    system = open_system(f"static:{tmp_path / 'glove.txt'}")
    assert (system.name, system.is_bilm, system.layers.num_layers) == ("static, glove", False, 1)


def test_a_file_of_vectors_is_opened_by_its_ending(tmp_path: Path):
    save_vectors(tmp_path / "cove.npy", [SENTENCE], [np.ones((2, 2, 4), np.float16)])
    system = open_system(str(tmp_path / "cove.npy"))
    assert (system.name, system.is_bilm, system.layers.num_layers) == ("cove", False, 2)


def test_word_vectors_are_given_to_the_systems_that_read_them(tmp_path: Path):
    (tmp_path / "glove.txt").write_text("the 1 0\n")
    given = f"static:{tmp_path / 'glove.txt'}"
    assert open_system(given, word_vectors=tmp_path / "glove.txt").layers.num_layers == 1
    with pytest.raises(ValueError, match="cove reads word vectors"):
        open_system(f"cove:{tmp_path}")


def test_what_is_not_there_is_refused():
    with pytest.raises(FileNotFoundError, match="no model 'mini-em'"):
        open_system("mini-em")
