"""Files of vectors in every layout: the ending of the name decides how one is written, its contents how it is read.

| ending | holds |
|---|---|
| `.npz`, `.safetensors` | `vectors` (N,E) or (N,L,E) of all tokens of all sentences; `offsets` (sentences + 1) |
| `.npy` | `vectors`; `offsets` in a second file, `NAME.offsets.npy` next to `NAME.npy` |
| `.h5`, `.hdf5` | for other programs: a dataset per sentence, named by its number from 0, (T,E) or (L,T,E) |
| `.parquet`, `.arrow` | for other programs: a row per sentence, with its tokens and vectors (`arrow.py`) |
| `.tsv` | for other programs, which alone read it: a row per token, with its vector as text (`text_tables.py`) |

Sentence i is `vectors[offsets[i]:offsets[i + 1]]`; a sentence without tokens has a number, but no rows. `elmokit embed`
writes float32, `save_vectors` float16; offsets are int64. The model and its settings are recorded in the metadata of
safetensors, in `about` (JSON) of `.npz`, in the metadata of Parquet and Arrow, and, for other programs alone, in the
attributes of HDF5, but not in `.npy`.
"""

from __future__ import annotations

from pathlib import Path

from elmokit.files.hdf5 import SIGNATURE
from elmokit.system.messages import FormatError
from elmokit.system.paths import expanded
from elmokit.vectors.arrow import ARROW_MAGIC, PARQUET_MAGIC, TableVectors, write_arrow, write_parquet
from elmokit.vectors.flat import (
    MAGIC,
    ZIP_MAGIC,
    read_npy,
    read_npz,
    read_safetensors,
    recognise_npz,
    recognise_safetensors,
    start_of_npy,
    start_of_safetensors,
    write_npz,
)
from elmokit.vectors.hdf5 import HDF5Vectors, recognise_hdf5, write_hdf5
from elmokit.vectors.reader import StoredVectors, VectorsFormat
from elmokit.vectors.text_tables import START_OF_TSV, read_tsv, write_tsv

_START_BYTES = 1 << 16  # bytes at the start of a file that show its layout

FORMATS = (
    VectorsFormat((".h5", ".hdf5"), SIGNATURE, HDF5Vectors, write_hdf5, recognise=recognise_hdf5),
    VectorsFormat((".npz",), ZIP_MAGIC, read_npz, write_npz, recognise=recognise_npz),
    VectorsFormat((".npy",), MAGIC, read_npy, start=start_of_npy),
    VectorsFormat(
        (".safetensors",), b"", read_safetensors, start=start_of_safetensors, recognise=recognise_safetensors
    ),
    VectorsFormat((".parquet",), PARQUET_MAGIC, TableVectors, write_parquet, holds_text=True, package="pyarrow"),
    VectorsFormat((".arrow", ".feather"), ARROW_MAGIC, TableVectors, write_arrow, holds_text=True, package="pyarrow"),
    VectorsFormat((".tsv",), START_OF_TSV, read_tsv, write_tsv, holds_text=True),
)
BY_ENDING = {ending: layout for layout in FORMATS for ending in layout.endings}


def load_vectors(path: str | Path) -> StoredVectors:
    """Open a file of vectors that `elmokit embed` or `save_vectors` wrote, in any layout.

    The result is like a list of arrays, each read when it is asked for: `vectors[i]` is the array of sentence i, (T,E)
    or (L,T,E). Nothing is unpickled, and sizes are checked before memory is allocated. Raises OSError for a missing
    file or a folder, and ValueError, naming the file and the part of it, for one that holds no vectors or is damaged.
    """
    path = expanded(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected a file of vectors")
    layout = recognise(path)
    if layout is None:
        endings = [ending for ending, known in BY_ENDING.items() if known.read is not read_tsv]
        expected = f"holds no vectors; expected a file of `elmokit embed` ({', '.join(endings)})"
        by_name = "; its datasets are not numbered from 0, perhaps named by sentences: read them with h5py"
        raise FormatError(path, expected + (by_name if _start(path).startswith(SIGNATURE) else ""))
    if BY_ENDING.get(path.suffix, layout) is not layout:
        raise FormatError(path, f"has the contents of a {layout.endings[0]} file; rename it")
    return StoredVectors(path, layout)


def recognise(path: str | Path) -> VectorsFormat | None:
    """The layout of a file of vectors, by its contents; None for anything else, such as a model or a missing file."""
    path = expanded(path)
    if not path.is_file():
        return None
    start = _start(path)
    may_be = (layout for layout in FORMATS if start.startswith(layout.magic))
    return next((layout for layout in may_be if layout.recognise is None or layout.recognise(path, start)), None)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_START_BYTES)


def format_to_write(path: Path) -> VectorsFormat:
    """The layout for the ending of a new file's name. Raises ValueError if there is none."""
    if path.suffix == ".vec":
        raise ValueError(
            f"{path}: word2vec's format has one vector for each word; add --types, or use embed_types, for averages"
        )
    if path.suffix not in BY_ENDING:
        raise ValueError(
            f"{path} has {f'the unknown ending {path.suffix}' if path.suffix else 'no ending'}; "
            f"expected one of {', '.join(BY_ENDING)}"
        )
    return BY_ENDING[path.suffix]
