"""What all systems share: batches of one length, and layers that are encoded when they are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from elmokit.integrations.encoder import SystemLayers, of_equal_length
from elmokit.model.vector_source import VectorSource


def test_groups_have_sentences_of_one_length():
    sentences = [["a", "b"], ["a"], [], ["c", "d"], ["e", "f"]]
    assert of_equal_length(sentences, most=2) == [[1], [0, 3], [4]]


def test_a_system_is_frozen_layers(tmp_path: Path):
    asked: list[list[str]] = []
    (tmp_path / "model").write_text("x")
    layers: VectorSource = SystemLayers(
        lambda sentences: [np.ones((2, len(sentence), 3), np.float32) for sentence in sentences],
        num_layers=2,
        dim=3,
        files=[tmp_path / "model"],
        prepare=lambda sentences: asked.extend(map(list, sentences)),
    )
    layers.add([["a"]])
    assert asked == [["a"]]
    batch = layers([["a"], ["b", "c"]])
    assert batch.shape == (2, 2, 2, 3)
    assert not batch[:, 0, 1].any()


def test_settings_are_part_of_the_fingerprint():
    prints = {
        SystemLayers(lambda _: [], num_layers=1, dim=1, files=[], settings=settings).fingerprint()
        for settings in ("first", "mean")
    }
    assert len(prints) == 2
