"""Recognising the format of a model by the contents of its files, never by their names, and reading it into NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.model.formats.all_formats import FORMATS
from elmokit.model.formats.model_files import ModelFiles, StrPath

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.model.formats.format import Format
    from elmokit.model.formats.stored import StoredBiLM


def recognise(path: StrPath, weights: StrPath | None = None, *, formats: Sequence[Format] = FORMATS) -> Format:
    """The format of a folder, of a file in a folder, or of a pair of files (in either order).

    Raises FileNotFoundError if there are no such files, and FormatError if they are not a model, which says what they
    are instead and what to do with them.
    """
    return format_of(ModelFiles(path, weights), formats)


def format_of(files: ModelFiles, formats: Sequence[Format]) -> Format:
    """The first format that recognises these files. Raises FormatError if none does."""
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
    """Read a model in any format: a folder, a file in a folder, or a pair of files (in either order).

    with_softmax: True raises FormatError if the model has no softmax, None reads the softmax if there is one, and
        False does not touch it.
    """
    files = ModelFiles(path, weights)
    return format_of(files, formats).read(files, with_softmax=with_softmax)
