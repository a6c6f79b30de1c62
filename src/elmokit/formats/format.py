"""A format of models on disk: a record of functions, like a task. `recognise.py` lists all formats.

A new format is a file with such a record, and a line in that list; `recognise`, `read`, `inspect`, `convert` and the
command line then know it. Every format is read into a `StoredBiLM`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from elmokit.formats.inspection import Inspection
    from elmokit.formats.model_files import ModelFiles
    from elmokit.formats.weights import StoredBiLM


class Read(Protocol):
    """Reads the model. Raises FormatError, which names the file, the part of it and the reason.

    with_softmax: True raises FormatError if the model has no softmax, None reads the softmax if there is one, and
        False does not touch it.
    """

    def __call__(self, files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM: ...


@dataclass(frozen=True)
class WriteSettings:
    """How a model is written; `Format` says which settings a format supports."""

    dtype: str = "float32"
    """Type of the weights: float32 or float16."""
    softmax_dtype: str | None = None
    """Type of the softmax's weight, if it is not that of the others: float32, float16 or int8."""
    max_file_bytes: int | None = None
    """Largest size of a file when the softmax is split into several; None keeps it in one."""


@dataclass(frozen=True)
class Format:
    """A way to keep a biLM on disk, in a folder or in one file."""

    name: str
    """Short name, as in `elmokit convert --to NAME`."""
    description: str
    """Description for people, such as `bilm-tf / AllenNLP (options.json, HDF5)`."""
    recognise: Callable[[ModelFiles], bool]
    """Whether the files are meant to be a model of this format, by their contents, never by their names.

    Raises FormatError if they are, but something is missing. No pickle is run, and no weights are read.
    """
    inspect: Callable[[ModelFiles, Inspection], None]
    """Adds what the files say to an inspection, without reading weights; a FormatError ends it with a refusal."""
    read: Read
    write: Callable[[Path, StoredBiLM, WriteSettings], list[str]] | None = None
    """Writes a new folder, completely or not at all, and returns notes for the user, such as what was left out.

    None for a format that can only be read.
    """
    dtypes: tuple[str, ...] = ("float32",)
    """Types in which the weights can be written."""
    softmax_dtypes: tuple[str, ...] = ()
    """Types in which the softmax alone can be written; none if it has always that of the other weights."""
    splits_files: bool = False
    """Whether the format supports `WriteSettings.max_file_bytes`."""
