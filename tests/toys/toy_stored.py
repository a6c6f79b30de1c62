"""Toy models as arrays for the tests of formats, and assertions about them."""

import resource
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from elmokit.formats.find import inspect
from elmokit.formats.importers.load import load
from elmokit.formats.native import native_folder, open_weights
from elmokit.model.config import BiLMConfig
from elmokit.model.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, Weights
from elmokit.system.messages import FormatError
from elmokit.text.vocabulary import Vocabulary

TINY = BiLMConfig(
    filters=((1, 3), (2, 5)),
    character_dim=4,
    max_characters_per_token=12,
    num_highway_layers=1,
    projection_dim=6,
    lstm_dim=10,
)


def make_stored(config: BiLMConfig = TINY, *, num_tokens: int = 0) -> Weights:
    """A model in which every number is different, so that a wrong transpose or order shows."""
    shapes = config.tensor_shapes()
    if num_tokens:
        shapes |= {SOFTMAX_WEIGHT: (num_tokens, config.projection_dim), SOFTMAX_BIAS: (num_tokens,)}
    random = np.random.default_rng(0)
    tensors = {name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
    tensors["char_encoder.embedding.weight"][0] = 0.0
    words = [f"word{number}" for number in range(max(num_tokens, 4) - 3)]
    return Weights(
        config=config,
        tensors=tensors,
        vocabulary=Vocabulary(["<S>", "</S>", "<UNK>", *words]),
        pretraining={"seed": 1, "text": ["밥", "a\u2028b"]},
    )


def read_stored(path: Path, weights: Path | None = None, *, with_softmax: bool = False) -> Weights:
    """Read a model in any format in this process, without importing it."""
    folder = native_folder(path) if weights is None else None
    if folder is not None:
        return open_weights(folder, with_softmax=with_softmax)
    found = load(path, weights)
    return found if with_softmax else found.without_softmax()


def datasets_of(path: Path) -> dict[str, np.ndarray]:
    """The datasets of an HDF5 file, by name."""
    names: list[str] = []
    with h5py.File(path) as file:
        file.visit(names.append)
        return {name: file[name][()] for name in names if isinstance(file[name], h5py.Dataset)}


@contextmanager
def without_allocation(most_bytes: int = 4 << 20) -> Generator[None]:
    """Fail if the body allocates more than a few MiB, in Python or outside."""
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    try:
        yield
        traced = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert traced < most_bytes
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident < 64 << 10  # KiB


def assert_refused(reason: str, *paths: Path, **settings: Any) -> None:
    """Assert that `read_stored` gives the reason, a regular expression, and that `inspect` refuses the model, too."""
    with pytest.raises(FormatError, match=reason):
        read_stored(*paths, **settings)
    assert inspect(*paths).refusals


def assert_equal(first: Weights, second: Weights) -> None:
    """Assert that models are equal bit for bit, including the signs of zeros."""
    assert first.config == second.config
    assert first.tensors.keys() == second.tensors.keys()
    for name, array in first.tensors.items():
        other = second.tensors[name]
        assert array.dtype == other.dtype == np.float32
        assert array.shape == other.shape, name
        assert array.tobytes() == other.tobytes(), name
