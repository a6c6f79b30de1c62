"""Parquet and Arrow files, read a group of rows at a time (a row group, or a record batch), with pyarrow.

pyarrow parses the files; what it returns is validated before it is used. Errors name the file and the group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmokit.system.messages import FormatError, join_names, printable
from elmokit.system.python import require

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1\0\0"


@dataclass(frozen=True)
class Groups:
    """The rows of a file, in groups. Schemas and arrays are those of pyarrow."""

    path: Path
    kind: str
    """What a group is called: `row group` or `record batch`."""
    schema: Any
    columns: list[str]
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
        schema, metadata = file.schema_arrow, file.metadata
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

        def column_of(group: int, column: str) -> Any:
            return file.read_row_group(group, columns=[column], use_threads=False).column(column).combine_chunks()

        return Groups(path, "row group", schema, schema.names, sizes, column_of)


def _arrow_groups(path: Path) -> Groups:
    """The record batches of an Arrow file (IPC, also called Feather 2), which is memory-mapped."""
    with refused(path):
        file = pyarrow_module("pyarrow.ipc").open_file(_mapped(path))
        sizes = [file.get_batch(group).num_rows for group in range(file.num_record_batches)]

        def column_of(group: int, column: str) -> Any:
            return file.get_batch(group).column(column)

        return Groups(path, "record batch", file.schema, file.schema.names, sizes, column_of)


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
    for name in names:
        if groups.columns.count(name) == 1:
            return name
    if twice := [name for name in names if name in groups.columns]:
        raise FormatError(groups.path, f"has two columns {twice[0]}; expected one, rename the other")
    wanted, there = " or ".join(names), join_names(groups.columns) or "none"
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
