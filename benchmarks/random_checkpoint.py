"""A random model of a released size, in the released layout (options.json + HDF5); speed does not need real weights.

The scales keep activations alive: token representations have a deviation of 0.5 to 0.7, LSTM outputs of 0.2 to 0.4, and
a few percent of the cells are at the clip.
"""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np

SIZES = {"original": (4096, 512, 2), "medium": (2048, 256, 1), "small": (1024, 128, 1)}  # cells, projection, highways
FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]


def write_random_checkpoint(size: str, folder: Path, *, seed: int = 13) -> None:
    """Write `options.json` and `lm_weights.hdf5`; the same seed gives the same weights."""
    cells, projection, num_highways = SIZES[size]
    num_filters = sum(number for _, number in FILTERS)
    random = np.random.default_rng(seed)

    def normal(*shape: int, deviation: float) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32) * np.float32(deviation)

    lstm = {"projection_dim": projection, "dim": cells, "n_layers": 2, "use_skip_connections": True}
    characters = {"activation": "relu", "filters": FILTERS, "n_highway": num_highways, "embedding": {"dim": 16}}
    characters |= {"n_characters": 262, "max_characters_per_token": 50}
    options = {"lstm": lstm | {"cell_clip": 3, "proj_clip": 3}, "char_cnn": characters}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(folder / "lm_weights.hdf5", "w") as file:
        file["char_embed"] = random.uniform(-1, 1, (261, 16)).astype("float32")
        for index, (width, number) in enumerate(FILTERS):
            file[f"CNN/W_cnn_{index}"] = normal(1, width, 16, number, deviation=0.6 / (width * 16 / 3) ** 0.5)
            file[f"CNN/b_cnn_{index}"] = normal(number, deviation=0.05) - np.float32(0.3)
        for index in range(num_highways):
            file[f"CNN_high_{index}/W_carry"] = normal(num_filters, num_filters, deviation=num_filters**-0.5)
            file[f"CNN_high_{index}/b_carry"] = np.full(num_filters, -2, dtype=np.float32)
            file[f"CNN_high_{index}/W_transform"] = normal(num_filters, num_filters, deviation=num_filters**-0.5)
            file[f"CNN_high_{index}/b_transform"] = np.zeros(num_filters, dtype=np.float32)
        file["CNN_proj/W_proj"] = normal(num_filters, projection, deviation=0.7 * num_filters**-0.5)
        file["CNN_proj/b_proj"] = normal(projection, deviation=0.05)
        for direction in (0, 1):
            for layer in (0, 1):
                cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
                reads = normal(projection, 4 * cells, deviation=1.6 * projection**-0.5)
                recurs = normal(projection, 4 * cells, deviation=projection**-0.5)
                file[f"{cell}/W_0"] = np.concatenate([reads, recurs])
                file[f"{cell}/B"] = normal(4 * cells, deviation=0.1)
                file[f"{cell}/W_P_0"] = normal(cells, projection, deviation=cells**-0.5)
