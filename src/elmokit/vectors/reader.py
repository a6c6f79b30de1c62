"""Vectors of sentences on disk, read one sentence at a time: the interface and the result of every layout's reader."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from elmokit.files.json import parse_json
from elmokit.files.lines import read_lines, split_tokens
from elmokit.system.messages import FormatError, first_token

if TYPE_CHECKING:
    from jaxtyping import Float, Int64


class SentenceArrays(Protocol):
    """What a layout's reader returns: the arrays of sentences 0 to N-1, and what they have in common."""

    @property
    def about(self) -> Mapping[str, str]: ...

    @property
    def num_layers(self) -> int | None:
        """None if the arrays have no axis of layers."""

    @property
    def dim(self) -> int: ...

    def __len__(self) -> int: ...

    def __getitem__(self, sentence: int) -> Float[np.ndarray, "*L T E"]: ...

    def lengths(self) -> Int64[np.ndarray, " B"]:
        """Tokens of each sentence."""
        ...

    def sentences(self) -> list[list[str]] | None:
        """Tokens of each sentence, if they are in the file."""


@dataclass(frozen=True)
class RowsInFile:
    """The rows of a float32 array that ends a file. A slice is read, not mapped, so the memory does not grow."""

    path: Path
    start: int
    """Byte of the first row."""
    shape: tuple[int, ...]
    dtype = np.dtype("<f4")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> Float[np.ndarray, "N *L E"]:
        first, end, _ = rows.indices(len(self))
        row = self.shape[1:]
        at = self.start + first * prod(row) * self.dtype.itemsize
        numbers = np.fromfile(self.path, self.dtype, (end - first) * prod(row), offset=at)
        return numbers.reshape(end - first, *row)


@dataclass(frozen=True)
class FlatVectors:
    """Vectors of the tokens of all sentences, concatenated; usually arrays on disk, so read them a part at a time."""

    vectors: Float[np.ndarray, "N *L E"] | RowsInFile
    offsets: Int64[np.ndarray, " M"]
    """Sentence i has the rows from `offsets[i]` up to `offsets[i + 1]` (exclusive)."""
    about: Mapping[str, str] = field(default_factory=dict[str, str])
    """The model's fingerprint, the precision, the layers."""
    texts: Iterable[tuple[str, list[str]]] | None = None
    """The text of each sentence and its tokens, when vectors are written in a layout that holds them."""
    raw_text: bool = False
    """Whether the texts were tokenised; if not, they are nothing but the tokens."""

    @property
    def num_layers(self) -> int | None:
        return self.vectors.shape[1] if self.vectors.ndim == 3 else None

    @property
    def dim(self) -> int:
        return self.vectors.shape[-1]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, sentence: int) -> Float[np.ndarray, "*L T E"]:
        return tokens_first(self.vectors[self.offsets[sentence] : self.offsets[sentence + 1]])

    def lengths(self) -> Int64[np.ndarray, " B"]:
        return np.diff(self.offsets)

    def sentences(self) -> list[list[str]] | None:
        return None


def tokens_first(array: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The vectors (T,E) of a sentence as they are, (L,T,E) as (T,L,E), and (T,L,E) as (L,T,E)."""
    return array if array.ndim == 2 else array.swapaxes(0, 1)


@dataclass(frozen=True)
class VectorsFormat:
    """A layout of vectors on disk: how to recognise, read and write it."""

    endings: tuple[str, ...]
    magic: bytes
    """What its files begin with."""
    read: Callable[[Path], SentenceArrays]
    """Opens a file. Raises FormatError, a ValueError, if it is damaged, before memory is allocated."""
    write: Callable[[Path, FlatVectors], None] | None = None
    """Writes a file from vectors that are complete."""
    start: Callable[[tuple[int, ...], Int64[np.ndarray, " M"], Mapping[str, str]], bytes] | None = None
    """What a file begins with, from the shape of its vectors, their offsets and `about`. Float32 rows, which can be
    appended to it, are the rest of the file. A layout has either this or `write`."""
    recognise: Callable[[Path, bytes], bool] | None = None
    """Whether a file that begins with `magic` has this layout, from its path and its first bytes; None if it has."""
    holds_text: bool = False
    """Whether the sentences are written as well."""
    package: str | None = None
    """The optional package that it needs."""

    def files(self, path: Path) -> tuple[Path, ...]:
        """All files that hold the vectors of a path, the path itself first."""
        return (path, offsets_path(path)) if ".npy" in self.endings else (path,)


def offsets_path(path: Path) -> Path:
    """The path `NAME.offsets.npy` for `NAME.npy`."""
    return path.with_suffix(".offsets.npy")


def tokens_path(path: Path) -> Path:
    """Where the tokens of raw text that was embedded are: `NAME.ENDING.tokens.txt`."""
    return path.with_name(f"{path.name}.tokens.txt")


def sentences_path(path: Path) -> Path:
    """Where the sentences are into which a text was split before it was embedded: `NAME.ENDING.sentences.txt`."""
    return path.with_name(f"{path.name}.sentences.txt")


class StoredVectors:
    """Contextual vectors in a file: `vectors[i]` is the array of sentence i, (T,E), or (L,T,E) with all layers.

    Created by `load_vectors`. An array is read when it is asked for (flat layouts are memory-mapped, and their arrays
    are read-only). `len`, iteration, slices and negative numbers work as with a list. A copy in another process opens
    the file again.
    """

    def __init__(self, path: Path, layout: VectorsFormat) -> None:
        self.path = path
        self.files = layout.files(path)
        """The files that hold the vectors: `path`, and `NAME.offsets.npy` in the `.npy` layout."""
        self._layout = layout
        self._arrays = layout.read(path)
        self.num_layers = self._arrays.num_layers
        """L; None if the arrays have no axis of layers."""
        self.dim = self._arrays.dim
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
        """Vectors of a sentence, (T,E) or (L,T,E), in the file's precision; of a slice, a list. Raises IndexError."""
        if isinstance(sentence, slice):
            return [self._arrays[number] for number in range(*sentence.indices(len(self)))]
        sentence = operator.index(sentence)  # a TypeError for a name, or a list of numbers
        number = sentence + len(self) if sentence < 0 else sentence
        if not 0 <= number < len(self):
            raise IndexError(f"{self.path} has {len(self):,} sentences; there is no sentence {sentence}")
        return self._arrays[number]

    def __iter__(self) -> Iterator[Float[np.ndarray, "*L T E"]]:
        return (self._arrays[sentence] for sentence in range(len(self)))

    def __reduce__(self) -> tuple[type[StoredVectors], tuple[Path, VectorsFormat]]:
        return StoredVectors, (self.path, self._layout)

    def sentences(self) -> list[list[str]] | None:
        """Tokens of each sentence, from a Parquet or Arrow file or else from `text_path`; None if there is neither.

        Raises ValueError if there are more or fewer lines than sentences, or tokens in a line than vectors.
        """
        in_file = self._arrays.sentences()
        if in_file is not None or not self.text_path.is_file():
            return in_file
        is_ours = self.text_path == tokens_path(self.path)
        lines = list(read_lines(self.text_path, keep_marks=is_ours))  # a user's text as it was embedded
        if len(lines) != len(self):
            raise FormatError(self.text_path, f"has {len(lines):,} lines, but {self.path.name} {len(self):,} sentences")
        tokens_once: dict[str, str] = {}  # a token has many occurrences, which share one string
        sentences = [[tokens_once.setdefault(token, token) for token in split_tokens(line)] for line in lines]
        lengths = self._arrays.lengths().tolist()
        for number, (tokens, length) in enumerate(zip(sentences, lengths, strict=True), start=1):
            if len(tokens) != length:
                sizes = f"has {len(tokens)} tokens, but {self.path.name} {length} vectors"
                raise FormatError(self.text_path, f"{sizes}: {first_token(lines[number - 1])}", part=f"line {number}")
        return sentences


def read_about(path: Path, text: bytes, *, part: str) -> dict[str, str]:
    """Model and settings, which are JSON in a part of the file. Raises `FormatError` if it is something else."""
    return parse_json(text, dict[str, str], where=path, part=part)
