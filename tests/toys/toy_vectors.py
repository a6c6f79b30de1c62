"""Vectors without a model or a text: files in any layout, jobs that end early, and layers cut out of a batch."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.model.vector_source import VectorSource
from elmokit.vectors.files import format_to_write
from elmokit.vectors.flat import FlatVectors, offsets_path
from elmokit.vectors.writer import Writer


def write_vectors(path: Path, stored: FlatVectors) -> None:
    layout = format_to_write(path)
    if layout.write is not None:
        layout.write(path, stored)
        return
    assert layout.start is not None
    rows = np.asarray(stored.vectors)
    path.write_bytes(layout.start(rows.shape, stored.offsets, stored.about) + rows.tobytes())
    if path.suffix == ".npy":
        np.save(offsets_path(path), stored.offsets)


@contextmanager
def interrupted(*, after: int) -> Generator[None]:
    """Ctrl-C in an embedding job, as soon as this many blocks are kept."""
    append, blocks = Writer.append, iter(range(after))

    def stop(writer: Writer, start: int, arrays: Any) -> None:
        if next(blocks, None) is None:
            raise KeyboardInterrupt
        append(writer, start, arrays)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Writer, "append", stop)
        yield


def unpadded(layers: VectorSource, sentences: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """The layers (L,T,E) of each sentence; all sentences are encoded together."""
    batch = layers(sentences).numpy()
    return [batch[:, number, : len(sentence)] for number, sentence in enumerate(sentences)]
