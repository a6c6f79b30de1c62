"""Files of vectors in any layout, without a model and a text."""

from pathlib import Path

import numpy as np

from elmokit.vectors.files import format_to_write
from elmokit.vectors.reader import FlatVectors, offsets_path


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
