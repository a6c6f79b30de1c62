"""Which format a path holds, by the contents of the files, never by their names; and reading it as NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.model.formats.all_formats import FORMATS
from elmokit.model.formats.model_files import ModelFiles, StrPath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.model.formats.format import Format
    from elmokit.model.formats.stored import StoredBiLM


def recognise(path: StrPath, weights: StrPath | None = None, *, formats: Sequence[Format] = FORMATS) -> Format:
    """The format of a folder, of a file in one, or of a pair of files (in either order).

    Raises FileNotFoundError if nothing is there, and FormatError, which says what was found instead and what to do
    with it.
    """
    return format_of(ModelFiles(path, weights), formats)


def format_of(files: ModelFiles, formats: Sequence[Format]) -> Format:
    """The first of the formats that these files are meant to be; FormatError if they are none."""
    for known in formats:
        if known.recognise(files):
            return known
    raise files.not_a_model()


def read_stored(
    path: StrPath,
    weights: StrPath | None = None,
    *,
    with_softmax: bool | None = False,
    formats: Sequence[Format] = FORMATS,
) -> StoredBiLM:
    """Read a model in any of the formats: a folder, a file in one, or a pair of files (in either order).

    `with_softmax=None`: with it if there is one; True: FormatError if there is none.
    """
    files = ModelFiles(path, weights)
    return format_of(files, formats).read(files, with_softmax=with_softmax)
