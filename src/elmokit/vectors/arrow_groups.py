"""Parquet and Arrow files, read a group of rows at a time (a row group, or a record batch), with pyarrow.

pyarrow parses the files; what it returns is validated before it is used. Errors name the file and the group.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from elmokit.system.messages import FormatError, join_names, printable
from elmokit.system.python import require

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1\0\0"


class Groups(Protocol):
    """The rows of a file, in groups. Schemas and arrays are those of pyarrow."""

    path: Path
    kind: str
    """What a group is called: `row group` or `record batch`."""
    schema: Any
    columns: list[str]
    sizes: list[int]
    """Rows of each group."""

    def read(self, group: int, column: str) -> Any:
        """A column of a group as an array of pyarrow, validated. Raises FormatError if it is damaged."""
        ...


class ParquetGroups:
    """The row groups of a Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = "row group"
        with refused(path):
            self._file = pyarrow_module("pyarrow.parquet").ParquetFile(path, memory_map=True)
            self.schema = self._file.schema_arrow
            self.columns: list[str] = self.schema.names
            metadata = self._file.metadata
            self.sizes: list[int] = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def read(self, group: int, column: str) -> Any:
        with refused(self.path, f"row group {group}"):
            table = self._file.read_row_group(group, columns=[column], use_threads=False)
            return _validated(table.column(column).combine_chunks(), num_rows=self.sizes[group])


class ArrowGroups:
    """The record batches of an Arrow file (IPC, also called Feather 2), which is memory-mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = "record batch"
        arrow = pyarrow_module("pyarrow")
        with refused(path):
            self._file = pyarrow_module("pyarrow.ipc").open_file(arrow.memory_map(str(path)))
            self.schema = self._file.schema
            self.columns: list[str] = self.schema.names
            self.sizes: list[int] = [
                self._file.get_batch(group).num_rows for group in range(self._file.num_record_batches)
            ]

    def read(self, group: int, column: str) -> Any:
        with refused(self.path, f"record batch {group}"):
            return _validated(self._file.get_batch(group).column(column), num_rows=self.sizes[group])


def open_groups(path: Path) -> Groups:
    """The groups of a Parquet or Arrow file, told by its first bytes. Raises FormatError for anything else."""
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file")
    with path.open("rb") as file:
        start = file.read(len(ARROW_MAGIC))
    if start.startswith(PARQUET_MAGIC):
        return ParquetGroups(path)
    if start == ARROW_MAGIC:
        return ArrowGroups(path)
    raise FormatError(path, "is neither a Parquet file nor an Arrow file")


def is_table(path: Path) -> bool:
    """Whether the file is a Parquet or Arrow file, by its first bytes."""
    if not path.is_file():  # opening a pipe would block
        return False
    with path.open("rb") as file:
        return file.read(len(ARROW_MAGIC)).startswith((PARQUET_MAGIC, ARROW_MAGIC))


def pyarrow_module(name: str) -> Any:
    """A module of pyarrow. Raises ValueError, naming the extra, if it is not installed."""
    return require(name, extra="arrow", purpose="reading and writing Parquet and Arrow files")


def only_column(groups: Groups, names: Sequence[str]) -> str:
    """The first of the names that the file has as a column. Raises FormatError, with the columns that it has."""
    for name in names:
        if groups.columns.count(name) == 1:
            return name
    wanted, there = " or ".join(names), join_names(groups.columns) or "none"
    raise FormatError(groups.path, f"has no column {wanted}; its columns are {there}")


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


def _validated(array: Any, *, num_rows: int) -> Any:
    array.validate(full=True)
    if len(array) != num_rows:
        raise ValueError(f"has {len(array)} rows, but {num_rows} were announced")
    return array
