"""Parquet and Arrow files, with pyarrow: read a group of rows at a time, and vectors as a table of sentences.

| column | type | |
|---|---|---|
| `text` | string | the sentence; only if it was tokenised |
| `tokens` | list of strings | |
| `offsets` | list of fixed-size lists of 2 int32 | start and end of each token in `text`, in characters; as `text` |
| `vectors` | list of fixed-size lists of E float32 | a vector per token; L lists of E for all layers |

The model and its settings are in the metadata of the schema, as `elmokit` (JSON). A group is a row group of Parquet, or
a record batch of Arrow. Errors name the file and the group.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.system.messages import FormatError, join_names, printable
from elmokit.system.optional import require
from elmokit.text.alignment import token_offsets
from elmokit.vectors.reader import FlatVectors, read_about

if TYPE_CHECKING:
    from jaxtyping import Float32, Int64

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1\0\0"
ABOUT_KEY = b"elmokit"
GROUP_ROWS = 512
GROUP_TOKENS = 16_384
"""A group of rows, which is read as a whole, ends after this many sentences or with the one that reaches this many
tokens: 16 MiB of a layer of 256 numbers."""


def write_parquet(path: Path, stored: FlatVectors) -> None:
    """Write a Parquet file atomically, a row group at a time."""
    schema = table_schema(stored)
    with atomic_write(path) as unfinished, parquet_writer(unfinished, schema) as file:
        for batch in record_batches(stored, schema):
            file.write_batch(batch)


def write_arrow(path: Path, stored: FlatVectors) -> None:
    """Write an Arrow file atomically, a record batch at a time."""
    schema = table_schema(stored)
    new_file = pyarrow_module("pyarrow.ipc").new_file
    with atomic_write(path) as unfinished, unfinished.open("wb") as disk, new_file(disk, schema) as file:
        for batch in record_batches(stored, schema):
            file.write_batch(batch)


class TableVectors:
    """The arrays of a Parquet or Arrow file; the group of rows that was asked for last is in memory."""

    def __init__(self, path: Path) -> None:
        self._groups = groups = open_groups(path)
        only_column(groups, ["vectors"])
        self.num_layers, self.dim = _depth_and_width(groups)
        metadata: dict[bytes, bytes] = groups.schema.metadata or {}
        about = metadata.get(ABOUT_KEY)
        self.about = {} if about is None else read_about(groups.path, about, part="elmokit")
        self._ends = np.cumsum(groups.sizes, dtype=np.int64)
        self._last: tuple[int, FlatVectors] | None = None

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, sentence: int) -> Float32[np.ndarray, "*L T E"]:
        group = int(np.searchsorted(self._ends, sentence, side="right"))
        return self._read(group)[sentence - (int(self._ends[group - 1]) if group else 0)]

    def lengths(self) -> Int64[np.ndarray, " B"]:
        """Tokens of each sentence."""
        of_groups = (self._read(group).lengths() for group in range(len(self._ends)))
        return np.concatenate([np.empty(0, np.int64), *of_groups])

    def sentences(self) -> list[list[str]] | None:
        """Tokens of each sentence; None if the table has no column of tokens."""
        if "tokens" not in self._groups.schema.names:
            return None
        return [row for group in range(len(self._ends)) for row in self._groups.read(group, "tokens").to_pylist()]

    def _read(self, group: int) -> FlatVectors:
        if self._last is not None and self._last[0] == group:
            return self._last[1]
        rows = self._groups.read(group, "vectors")
        where = f"{self._groups.kind} {group}"
        if rows.null_count:
            missing = np.flatnonzero(rows.is_null().to_numpy(zero_copy_only=False))
            raise FormatError(self._groups.path, f"has no vectors in row {missing[0]}", part=where)
        numbers: Any = rows.flatten()
        shape = (-1, self.dim) if self.num_layers is None else (-1, self.num_layers, self.dim)
        lengths = rows.value_lengths().to_numpy(zero_copy_only=False)
        for _ in shape[1:]:
            numbers = numbers.flatten()
        flat = numbers.to_numpy(zero_copy_only=False)
        if numbers.null_count or len(flat) != int(lengths.sum()) * int(np.prod(shape[1:])):
            raise FormatError(self._groups.path, "has a missing vector or number", part=where)
        read = FlatVectors(flat.reshape(shape), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
        self._last = group, read
        return read


def table_schema(stored: FlatVectors) -> Any:
    """The columns of a file of these vectors, with what made them."""
    arrow = pyarrow_module("pyarrow")
    token = arrow.float32()
    for size in reversed(stored.vectors.shape[1:]):
        token = arrow.list_(token, size)
    fields = [("vectors", arrow.list_(token))]
    if stored.texts is not None:
        fields = [("tokens", arrow.list_(arrow.string())), *fields]
        if stored.raw_text:
            offsets = ("offsets", arrow.list_(arrow.list_(arrow.int32(), 2)))
            fields = [("text", arrow.string()), fields[0], offsets, *fields[1:]]
    return arrow.schema(fields, metadata={ABOUT_KEY: json.dumps(dict(stored.about)).encode()})


def record_batches(stored: FlatVectors, schema: Any) -> Iterator[Any]:
    """Record batches of pyarrow, which are the groups of a file."""
    arrow = pyarrow_module("pyarrow")
    texts = None if stored.texts is None else iter(stored.texts)
    start = 0
    while start < len(stored):
        starts = stored.offsets[start : start + GROUP_ROWS]
        enough = int(np.count_nonzero(starts < starts[0] + GROUP_TOKENS))
        end = min(start + enough, len(stored))
        columns: dict[str, Any] = {"vectors": _vectors(arrow, stored, start, end)}
        if texts is not None:
            rows = list(islice(texts, end - start))
            columns["tokens"] = [tokens for _, tokens in rows]
            if "text" in schema.names:
                columns["text"] = [text for text, _ in rows]
                columns["offsets"] = [token_offsets(text, tokens) for text, tokens in rows]
        yield arrow.record_batch([arrow.array(columns[field.name], field.type) for field in schema], schema=schema)
        start = end


def _vectors(arrow: Any, stored: FlatVectors, start: int, end: int) -> Any:
    bounds = np.asarray(stored.offsets[start : end + 1])
    rows = np.ascontiguousarray(stored.vectors[bounds[0] : bounds[-1]], np.float32)
    values = arrow.array(rows.reshape(-1))
    for size in reversed(rows.shape[1:]):
        values = arrow.FixedSizeListArray.from_arrays(values, size)
    return arrow.ListArray.from_arrays(arrow.array((bounds - bounds[0]).astype(np.int32)), values)


def _depth_and_width(groups: Groups) -> tuple[int | None, int]:
    types = pyarrow_module("pyarrow.types")
    column = groups.schema.field("vectors").type
    sizes: list[int] = []
    inner = column.value_type if types.is_list(column) or types.is_large_list(column) else column
    while types.is_fixed_size_list(inner):
        sizes.append(inner.list_size)
        inner = inner.value_type
    is_float = types.is_float32(inner) or types.is_float16(inner)
    if inner is column or len(sizes) not in (1, 2) or 0 in sizes or not is_float:
        expected = "a list of fixed-size lists of float32 or float16: a vector per token"
        raise FormatError(groups.path, f"is of type {column}; expected {expected}", part="column vectors")
    return (sizes[0] if len(sizes) == 2 else None), sizes[-1]


@dataclass(frozen=True)
class Groups:
    """The rows of a file, in groups. Schemas and arrays are those of pyarrow."""

    path: Path
    kind: str
    """What a group is called: `row group` or `record batch`."""
    schema: Any
    sizes: list[int]
    """Rows of each group."""
    column_of: Callable[[int, str], Any]
    """Reads a column of a group; `read` says what is wrong with it."""

    def read(self, group: int, column: str) -> Any:
        """A column of a group as an array of pyarrow, validated. Raises FormatError if it is damaged."""
        with refused(self.path, f"{self.kind} {group}"):
            array = self.column_of(group, column)
            array.validate(full=True)
            if len(array) != self.sizes[group]:
                raise ValueError(f"has {len(array)} rows, but {self.sizes[group]} were announced")
            return array


def parquet_groups(path: Path) -> Groups:
    """The row groups of a Parquet file."""
    with refused(path):
        file = parquet_file(path)
        metadata = file.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

        def column_of(group: int, column: str) -> Any:
            return file.read_row_group(group, columns=[column], use_threads=False).column(column).combine_chunks()

        return Groups(path, "row group", file.schema_arrow, sizes, column_of)


def _arrow_groups(path: Path) -> Groups:
    """The record batches of an Arrow file (IPC, also called Feather 2), which is memory-mapped."""
    with refused(path):
        file = pyarrow_module("pyarrow.ipc").open_file(_mapped(path))
        sizes = [file.get_batch(group).num_rows for group in range(file.num_record_batches)]

        def column_of(group: int, column: str) -> Any:
            return file.get_batch(group).column(column)

        return Groups(path, "record batch", file.schema, sizes, column_of)


def open_groups(path: Path) -> Groups:
    """The groups of an Arrow file, told by its first bytes, or else of a Parquet file."""
    return _arrow_groups(path) if _start(path) == ARROW_MAGIC else parquet_groups(path)


def is_table(path: Path) -> bool:
    """Whether the file is a Parquet or Arrow file, by its first bytes."""
    return path.is_file() and _start(path).startswith((PARQUET_MAGIC, ARROW_MAGIC))  # opening a pipe would block


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(ARROW_MAGIC))


def pyarrow_module(name: str) -> Any:
    """A module of pyarrow. Raises ValueError, naming the extra, if it is not installed."""
    return require(name, extra="arrow", purpose="reading and writing Parquet and Arrow files")


def only_column(groups: Groups, names: Sequence[str]) -> str:
    """The first of the names that the file has as a column. Raises FormatError, with the columns that it has."""
    columns: list[str] = groups.schema.names
    for name in names:
        if columns.count(name) == 1:
            return name
    if twice := [name for name in names if name in columns]:
        raise FormatError(groups.path, f"has two columns {twice[0]}; expected one, rename the other")
    wanted, there = " or ".join(names), join_names(columns) or "none"
    raise FormatError(groups.path, f"has no column {wanted}; its columns are {there}")


def parquet_file(path: Path) -> Any:
    """A Parquet file of pyarrow, memory-mapped."""
    return pyarrow_module("pyarrow.parquet").ParquetFile(_mapped(path))


@contextmanager
def parquet_writer(path: Path, schema: Any) -> Generator[Any]:
    """A writer of an uncompressed Parquet file, because vectors do not shrink."""
    open_disk, new_file = pyarrow_module("pyarrow").OSFile, pyarrow_module("pyarrow.parquet").ParquetWriter
    name = os.fsencode(path)  # as in `_mapped`
    with open_disk(name, "wb") as disk, new_file(disk, schema, compression="NONE", use_dictionary=False) as file:
        yield file


def _mapped(path: Path) -> Any:
    """The file as pyarrow maps it, by the bytes of its name: strings would have to be UTF-8."""
    return pyarrow_module("pyarrow").memory_map(os.fsencode(path))


@contextmanager
def refused(path: Path, part: str | None = None) -> Generator[None]:
    """Turn pyarrow's errors about what a file holds into FormatError."""
    try:
        yield
    except (pyarrow_module("pyarrow").ArrowException, OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise FormatError(path, f"cannot be read: {printable(str(error).partition(chr(10))[0])}", part=part) from None
