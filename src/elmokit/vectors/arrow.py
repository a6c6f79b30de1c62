"""Parquet and Arrow files, with pyarrow: reads a group of rows at a time, and writes vectors as a table of sentences.

| column | type | |
|---|---|---|
| `text` | string | the sentence; only if it was tokenised |
| `tokens` | list of strings | |
| `offsets` | list of fixed-size lists of 2 int32 | start and end of each token, in characters of `text`; only with it |
| `vectors` | list of fixed-size lists of E float32 | a vector per token; L lists of E for all layers |

The model and its settings are in the metadata of the schema, under `elmokit` (JSON). A group is a row group of Parquet
or a record batch of Arrow. Errors name the file and the group.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.files.json import parse_json
from elmokit.files.lines import PARQUET_MAGIC
from elmokit.system.messages import FormatError, join_names, printable
from elmokit.system.optional import require
from elmokit.system.paths import first_bytes
from elmokit.text.alignment import token_offsets
from elmokit.vectors.flat import FlatVectors

if TYPE_CHECKING:
    from jaxtyping import Float32, Int64

ARROW_MAGIC = b"ARROW1\0\0"
ABOUT_KEY = b"elmokit"
GROUP_ROWS = 512
GROUP_TOKENS = 16_384
"""A group of rows is read as a whole. It ends after this many sentences, or at the sentence that reaches this many
tokens: 16 MiB for one layer of 256 numbers."""


def write_table(path: Path, stored: FlatVectors) -> None:
    """Write a Parquet or Arrow file atomically, a group of rows at a time."""
    schema = table_schema(stored)
    open_file = parquet_writer if path.suffix == ".parquet" else arrow_writer
    with atomic_write(path) as unfinished, open_file(unfinished, schema) as file:
        for batch in record_batches(stored, schema):
            file.write_batch(batch)


class TableVectors:
    """The arrays of a Parquet or Arrow file. The group of rows that was read last stays in memory."""

    def __init__(self, path: Path) -> None:
        self._groups = groups = Groups(path)
        only_column(groups, ["vectors"])
        self.num_layers: int | None
        self.dim: int
        self.num_layers, self.dim = _depth_and_width(groups)
        metadata: dict[bytes, bytes] = groups.schema.metadata or {}
        about = metadata.get(ABOUT_KEY)
        self.about: dict[str, str] = parse_json(about or b"{}", dict[str, str], where=groups.path, part="elmokit")
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
    """The columns of a file of these vectors, with the model and its settings as metadata."""
    arrow = pyarrow_module("pyarrow")
    token = arrow.float32()
    for size in reversed(stored.vectors.shape[1:]):
        token = arrow.list_(token, size)
    types = {
        "text": arrow.string(),
        "tokens": arrow.list_(arrow.string()),
        "offsets": arrow.list_(arrow.list_(arrow.int32(), 2)),
        "vectors": arrow.list_(token),
    }
    names = ["vectors"] if stored.texts is None else list(types) if stored.raw_text else ["tokens", "vectors"]
    metadata = {ABOUT_KEY: json.dumps(dict(stored.about)).encode()}
    return arrow.schema([(name, types[name]) for name in names], metadata=metadata)


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


class Groups:
    """The rows of a file, in groups: record batches of Arrow (IPC, or Feather 2), or else row groups of Parquet.

    Schemas and arrays are pyarrow's. The file is memory-mapped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_arrow = first_bytes(path, len(ARROW_MAGIC)) == ARROW_MAGIC
        self.kind = "record batch" if self._is_arrow else "row group"
        with refused(path):
            if self._is_arrow:
                self._file = pyarrow_module("pyarrow.ipc").open_file(_mapped(path))
                self.schema: Any = self._file.schema
                groups = map(self._file.get_batch, range(self._file.num_record_batches))
            else:
                self._file = parquet_file(path)
                self.schema = self._file.schema_arrow
                groups = map(self._file.metadata.row_group, range(self._file.num_row_groups))
            self.sizes: list[int] = [group.num_rows for group in groups]
            """Rows of each group."""

    def read(self, group: int, column: str) -> Any:
        """A column of a group as an array of pyarrow, validated. Raises FormatError if it is damaged."""
        with refused(self.path, f"{self.kind} {group}"):
            if self._is_arrow:
                array = self._file.get_batch(group).column(column)
            else:
                rows = self._file.read_row_group(group, columns=[column], use_threads=False)
                array = rows.column(column).combine_chunks()
            array.validate(full=True)
            if len(array) != self.sizes[group]:
                raise ValueError(f"has {len(array)} rows, but {self.sizes[group]} were announced")
            return array


def is_table(path: Path) -> bool:
    """Whether the file is a Parquet or Arrow file, by its first bytes."""
    if not path.is_file():  # opening a pipe would block
        return False
    return first_bytes(path, len(ARROW_MAGIC)).startswith((PARQUET_MAGIC, ARROW_MAGIC))


def pyarrow_module(name: str) -> Any:
    """A module of pyarrow. Raises ValueError, naming the extra, if it is not installed."""
    return require(name, extra="arrow", purpose="reading and writing Parquet and Arrow files")


def only_column(groups: Groups, names: Sequence[str]) -> str:
    """The first of the names that is a column of the file. Raises FormatError if there is none or two with the name."""
    columns: list[str] = groups.schema.names
    for name in names:
        if columns.count(name) == 1:
            return name
    if twice := [name for name in names if name in columns]:
        raise FormatError(groups.path, f"has two columns named {twice[0]}; rename one of them")
    wanted, there = " or ".join(names), join_names(columns) or "none"
    raise FormatError(groups.path, f"has no column {wanted}; its columns are {there}")


def parquet_file(path: Path) -> Any:
    """A Parquet file of pyarrow, memory-mapped."""
    return pyarrow_module("pyarrow.parquet").ParquetFile(_mapped(path))


@contextmanager
def parquet_writer(path: Path, schema: Any) -> Generator[Any]:
    """A writer of a Parquet file. It is uncompressed, because compression does not make vectors smaller."""
    open_disk, new_file = pyarrow_module("pyarrow").OSFile, pyarrow_module("pyarrow.parquet").ParquetWriter
    name = os.fsencode(path)  # as in `_mapped`
    with open_disk(name, "wb") as disk, new_file(disk, schema, compression="NONE", use_dictionary=False) as file:
        yield file


@contextmanager
def arrow_writer(path: Path, schema: Any) -> Generator[Any]:
    """A writer of an Arrow file."""
    with path.open("wb") as disk, pyarrow_module("pyarrow.ipc").new_file(disk, schema) as file:
        yield file


def _mapped(path: Path) -> Any:
    """The file, mapped by pyarrow. It gets the name as bytes, because a string would have to be UTF-8."""
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
