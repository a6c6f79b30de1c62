"""What a format of models on disk is: a record of functions, as a task is. `all_formats.py` lists those we have.

A new format is a file with such a record, and a line in that list; `recognise`, `read`, `inspect`, `convert` and the
command line then know it. What every format is read into is `StoredBiLM`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from elmokit.model.formats.inspection import Inspection
    from elmokit.model.formats.model_files import ModelFiles
    from elmokit.model.formats.stored import StoredBiLM


class Read(Protocol):
    """Read the model; FormatError names the file, the part of it and the reason.

    `with_softmax`: True raises FormatError if there is none, None reads it if there is one, False does not touch it.
    """

    def __call__(self, files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM: ...


@dataclass(frozen=True)
class WriteSettings:
    """How a model is written; see the `Format` for which of them it knows."""

    dtype: str = "float32"
    """Type of the weights: float32 or float16."""
    max_file_bytes: int | None = None
    """The softmax is split into files of at most so many bytes; None leaves it in one."""


@dataclass(frozen=True)
class Format:
    """A way to keep a biLM on disk, in a folder or in one file."""

    name: str
    """As in `elmokit convert --to NAME`."""
    description: str
    """For people, such as `bilm-tf / AllenNLP (options.json, HDF5)`."""
    recognise: Callable[[ModelFiles], bool]
    """Whether the files are meant to be a model of this format, by their contents and never by their names.

    FormatError, if they are meant to be and something is missing. Nothing is unpickled, and no weight is read.
    """
    inspect: Callable[[ModelFiles, Inspection], None]
    """Add what the files say to an inspection, without reading a weight; FormatError ends it, as a refusal."""
    read: Read
    write: Callable[[Path, StoredBiLM, WriteSettings], list[str]] | None = None
    """Write a new folder, whole or not at all; the result is what the user should know, such as what was left out.

    None for a format that is only read.
    """
    dtypes: tuple[str, ...] = ("float32",)
    """Types in which it can be written."""
    splits_files: bool = False
    """Whether `WriteSettings.max_file_bytes` means anything to it."""
