"""Files of vectors in every layout. The ending of the name decides how a file is written, its contents how it is read.

| ending | holds |
|---|---|
| `.npz`, `.safetensors` | `vectors` (N,E) or (N,L,E) of all tokens of all sentences; `offsets` (sentences + 1) |
| `.npy` | `vectors`; `offsets` in a second file, `NAME.offsets.npy` next to `NAME.npy` |
| `.h5`, `.hdf5` | for other programs: a dataset per sentence, named by its number from 0, (T,E) or (L,T,E) |
| `.parquet`, `.arrow` | for other programs: a row per sentence, with its tokens and vectors (`arrow.py`) |
| `.tsv` | only for other programs: a row per token, with its vector as text (`text_tables.py`) |

Sentence i is `vectors[offsets[i]:offsets[i + 1]]`. A sentence without tokens has a number, but no rows. `elmokit embed`
writes float32, `save_vectors` float16. Offsets are int64. The model and its settings are recorded in the metadata of
safetensors, Parquet and Arrow, and in `about` (JSON) of `.npz`. The attributes of HDF5 have them for other programs
only; `.npy` does not have them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from elmokit.files.hdf5 import SIGNATURE, HDF5File, refusing_damage, write_datasets
from elmokit.files.lines import NPY_MAGIC, PARQUET_MAGIC, ZIP_MAGIC, read_lines, split_tokens
from elmokit.system.messages import FormatError, first_token
from elmokit.system.paths import expanded, first_bytes
from elmokit.vectors.arrow import ARROW_MAGIC, TableVectors, write_table
from elmokit.vectors.flat import (
    FlatVectors,
    npy_start,
    offsets_path,
    read_npy,
    read_npz,
    read_safetensors,
    recognise_npz,
    recognise_safetensors,
    start_of_safetensors,
    tokens_path,
    write_npz,
)
from elmokit.vectors.text_tables import START_OF_TSV, write_tsv

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int64

SENTENCE_TO_INDEX = b"sentence_to_index"
"""Name of the dataset that AllenNLP's `elmo` command writes next to the numbered ones."""
_START_BYTES = 1 << 16  # bytes at the start of a file that show its layout


@dataclass(frozen=True)
class VectorsFormat:
    """A layout of vectors on disk: how to recognise, read and write it."""

    endings: tuple[str, ...]
    magic: bytes
    """The first bytes of its files."""
    read: Callable[[Path], FlatVectors | HDF5Vectors | TableVectors] | None
    """Opens a file. Raises FormatError, a ValueError, if it is damaged, before memory is allocated. None for a layout
    that is for other programs."""
    write: Callable[[Path, FlatVectors], None] | None = None
    """Writes a file of complete vectors."""
    start: Callable[[tuple[int, ...], Int64[np.ndarray, " M"], Mapping[str, str]], bytes] | None = None
    """Returns the start of a file, given the shape of its vectors, their offsets and `about`. The rest of the file is
    float32 rows, which can be appended. A layout has either this or `write`."""
    recognise: Callable[[Path, bytes], bool] | None = None
    """Whether a file that begins with `magic` has this layout, given its path and first bytes. None: it always has."""
    holds_text: bool = False
    """Whether the sentences are written as well."""
    package: str | None = None
    """The optional package that it needs."""

    def files(self, path: Path) -> tuple[Path, ...]:
        """All files that hold the vectors of a path, the path itself first."""
        return (path, offsets_path(path)) if ".npy" in self.endings else (path,)


class HDF5Vectors:
    """The arrays of an HDF5 file. The file is not mapped: each access reads an array as float32 and checks it."""

    def __init__(self, path: Path) -> None:
        self._file = HDF5File(path)
        with refusing_damage(path, "is damaged"):
            self._len = int(self._file.root.get_num_objs()) - int(self._file.root.links.exists(SENTENCE_TO_INDEX))
        first = self._file.entry("0").shape
        if len(first) not in (2, 3) or 0 in (*first[:-2], first[-1]):
            reason = f"has shape {first}; expected (tokens, width) or (layers, tokens, width)"
            raise FormatError(path, reason, part="dataset 0")
        self.num_layers: int | None = first[0] if len(first) == 3 else None
        self.dim: int = first[-1]
        self.about: dict[str, str] = {}

    def __len__(self) -> int:
        return self._len

    def __getitem__(self, sentence: int) -> Float32[np.ndarray, "*L T E"]:
        self._num_tokens(sentence)
        return self._file.read(str(sentence))

    def lengths(self) -> Int64[np.ndarray, " B"]:
        return np.array([self._num_tokens(sentence) for sentence in range(len(self))], np.int64)

    def _num_tokens(self, sentence: int) -> int:
        """The number of tokens in a dataset, which must be as wide and as deep as the first dataset."""
        shape = self._file.entry(str(sentence)).shape
        layers = () if self.num_layers is None else (self.num_layers,)
        if len(shape) != 2 + len(layers) or (*shape[:-2], shape[-1]) != (*layers, self.dim):
            reason = f"has shape {shape}; expected {(*layers, 'tokens', self.dim)} as in dataset 0"
            raise FormatError(self._file.path, reason, part=f"dataset {sentence}")
        return shape[-2]


def recognise_hdf5(path: Path, start: bytes) -> bool:
    """Whether an HDF5 file has a dataset `0`, or is damaged."""
    try:
        with refusing_damage(path, "is damaged"):
            file = HDF5File(path)  # the variable keeps it open
            return bool(file.root.links.exists(b"0"))
    except FormatError:
        return True  # so that the reader reports the damage


def write_hdf5(path: Path, stored: FlatVectors) -> None:
    """Write the file atomically. h5py lists its datasets in the order of the sentences: 0, 1, 2, ..., 10."""
    datasets = ((str(sentence), stored[sentence]) for sentence in range(len(stored)))
    write_datasets(path, datasets, about=stored.about, in_order=True)


FORMATS = (
    VectorsFormat((".h5", ".hdf5"), SIGNATURE, HDF5Vectors, write_hdf5, recognise=recognise_hdf5),
    VectorsFormat((".npz",), ZIP_MAGIC, read_npz, write_npz, recognise=recognise_npz),
    VectorsFormat((".npy",), NPY_MAGIC, read_npy, start=lambda shape, offsets, about: npy_start(shape)),
    VectorsFormat(
        (".safetensors",), b"", read_safetensors, start=start_of_safetensors, recognise=recognise_safetensors
    ),
    VectorsFormat((".parquet",), PARQUET_MAGIC, TableVectors, write_table, holds_text=True, package="pyarrow"),
    VectorsFormat((".arrow", ".feather"), ARROW_MAGIC, TableVectors, write_table, holds_text=True, package="pyarrow"),
    VectorsFormat((".tsv",), START_OF_TSV, None, write_tsv, holds_text=True),
)
BY_ENDING = {ending: layout for layout in FORMATS for ending in layout.endings}


def load_vectors(path: str | Path) -> StoredVectors:
    """Open a file of vectors that `elmokit embed` or `save_vectors` wrote, in any layout.

    The result is like a list of arrays, each read on access: `vectors[i]` is the array of sentence i, (T,E) or (L,T,E).
    Nothing is unpickled, and sizes are checked before memory is allocated. Raises OSError for a missing file or a
    folder, and ValueError, naming the file and its part, for a file that holds no vectors or is damaged.
    """
    path = expanded(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected a file of vectors")
    layout = recognise(path)
    endings = ", ".join(ending for ending, known in BY_ENDING.items() if known.read is not None)
    if layout is None:
        by_name = "; its datasets are not numbered from 0, perhaps named after sentences: read them with h5py"
        hint = by_name if first_bytes(path, len(SIGNATURE)) == SIGNATURE else ""
        raise FormatError(path, f"holds no vectors; expected a file of `elmokit embed` ({endings}){hint}")
    if layout.read is None:
        raise FormatError(path, f"is a table for other programs, such as R and pandas; load_vectors reads {endings}")
    if BY_ENDING.get(path.suffix, layout) is not layout:
        raise FormatError(path, f"has the contents of a {layout.endings[0]} file; rename it")
    return StoredVectors(path, layout.files(path), layout.read(path))


class StoredVectors:
    """Contextual vectors in a file: `vectors[i]` is the array of sentence i, (T,E), or (L,T,E) with all layers.

    Created by `load_vectors`. Each access reads an array (flat layouts are memory-mapped, and their arrays are
    read-only). `len`, iteration, slices and negative numbers work as with a list. A copy in another process opens the
    file again.
    """

    def __init__(self, path: Path, files: tuple[Path, ...], arrays: FlatVectors | HDF5Vectors | TableVectors) -> None:
        self.path = path
        self.files = files
        """The files that hold the vectors: `path`, and `NAME.offsets.npy` in the `.npy` layout."""
        self._arrays = arrays
        self.num_layers: int | None = self._arrays.num_layers
        """L; None if the arrays have no axis of layers."""
        self.dim: int = self._arrays.dim
        """Width of a vector, E."""
        self.about: dict[str, str] = dict(self._arrays.about)
        """How they were computed: `model` (its fingerprint), `precision`, `layers`; empty for `.npy` and `.h5`."""

    @property
    def text_path(self) -> Path:
        """The file that may hold the sentences, one per line, tokens separated by spaces.

        It is `NAME.ENDING.tokens.txt` next to the vectors, as `embed_file` writes it for raw text, or else `NAME.txt`.
        """
        written = tokens_path(self.path)
        return written if written.is_file() else self.path.with_suffix(".txt")

    def __len__(self) -> int:
        return len(self._arrays)

    @overload
    def __getitem__(self, sentence: int) -> Float[np.ndarray, "*L T E"]: ...
    @overload
    def __getitem__(self, sentence: slice) -> list[Float[np.ndarray, "*L T E"]]: ...
    def __getitem__(self, sentence: int | slice) -> Any:
        """Vectors (T,E) or (L,T,E), in the file's precision (HDF5: float32); lists for slices. Raises IndexError."""
        if isinstance(sentence, slice):
            return [self._arrays[number] for number in range(*sentence.indices(len(self)))]
        sentence = operator.index(sentence)  # a TypeError for a name, or a list of numbers
        number = sentence + len(self) if sentence < 0 else sentence
        if not 0 <= number < len(self):
            raise IndexError(f"{self.path} has {len(self):,} sentences; there is no sentence {sentence}")
        return self._arrays[number]

    def __iter__(self) -> Iterator[Float[np.ndarray, "*L T E"]]:
        return (self._arrays[sentence] for sentence in range(len(self)))

    def __reduce__(self) -> tuple[Callable[[Path], StoredVectors], tuple[Path]]:
        return load_vectors, (self.path,)

    def sentences(self) -> list[list[str]] | None:
        """Tokens of each sentence, from a Parquet or Arrow file or else from `text_path`; None if there is neither.

        Raises ValueError if there are more or fewer lines than sentences, or tokens in a line than vectors.
        """
        in_file = self._arrays.sentences() if isinstance(self._arrays, TableVectors) else None
        if in_file is not None or not self.text_path.is_file():
            return in_file
        is_ours = self.text_path == tokens_path(self.path)
        lines = list(read_lines(self.text_path, keep_marks=is_ours))  # a user's text is read as `embed` read it
        if len(lines) != len(self):
            raise FormatError(self.text_path, f"has {len(lines):,} lines, but {self.path.name} has {len(self):,}")
        tokens_once: dict[str, str] = {}  # a token has many occurrences, which share one string
        sentences = [[tokens_once.setdefault(token, token) for token in split_tokens(line)] for line in lines]
        lengths = self._arrays.lengths().tolist()
        for number, (tokens, length) in enumerate(zip(sentences, lengths, strict=True), start=1):
            if len(tokens) != length:
                sizes = f"has {len(tokens)} tokens, but {self.path.name} has {length} vectors"
                raise FormatError(self.text_path, f"{sizes}: {first_token(lines[number - 1])}", part=f"line {number}")
        return sentences


def recognise(path: str | Path) -> VectorsFormat | None:
    """The layout of a file of vectors, by its contents. None for anything else, such as a model or a missing file."""
    path = expanded(path)
    if not path.is_file():
        return None
    start = first_bytes(path, _START_BYTES)
    may_be = (layout for layout in FORMATS if start.startswith(layout.magic))
    return next((layout for layout in may_be if layout.recognise is None or layout.recognise(path, start)), None)


def format_to_write(path: Path) -> VectorsFormat:
    """The layout for the ending of a new file's name. Raises ValueError if there is none."""
    if path.suffix not in BY_ENDING:
        types = "; .vec has one vector for each word: add --types, or use embed_types" if path.suffix == ".vec" else ""
        ending = f"the unknown ending {path.suffix}" if path.suffix else "no ending"
        raise ValueError(f"{path} has {ending}; expected one of {', '.join(BY_ENDING)}{types}")
    return BY_ENDING[path.suffix]
