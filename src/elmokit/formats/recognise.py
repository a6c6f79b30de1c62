"""Recognising the format of a model by the contents of its files, never by their names, and reading it into NumPy."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.archives import unpacked
from elmokit.formats.allennlp import ALLENNLP
from elmokit.formats.bilm_tf import BILM_TF
from elmokit.formats.file_kinds import FileKind, is_failed_download
from elmokit.formats.format import Format
from elmokit.formats.many_langs import MANY_LANGS
from elmokit.formats.model_files import ModelFiles, StrPath
from elmokit.formats.native import HUGGING_FACE, NATIVE
from elmokit.formats.tensorflow import TENSORFLOW
from elmokit.formats.token_vectors import TOKEN_VECTORS
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from elmokit.formats.weights import StoredBiLM

FORMATS: tuple[Format, ...] = (NATIVE, TENSORFLOW, ALLENNLP, MANY_LANGS, TOKEN_VECTORS, BILM_TF, HUGGING_FACE)
"""All formats, in the order in which they are tried on files."""


def recognise(path: StrPath, weights: StrPath | None = None) -> Format:
    """The format of a folder, of a file in a folder, of a pair of files (in either order), or of an archive of them.

    Raises the errors of `resolve_model` if there is no such model, and FormatError if the files are not a model, which
    says what they are instead and what to do with them.
    """
    with opened(ModelFiles(path, weights)) as (known, _):
        return known


def read_stored(path: StrPath, weights: StrPath | None = None, *, with_softmax: bool | None = False) -> StoredBiLM:
    """Read a model in any format: a name, a folder, a file in one, a pair of files (in either order), or an archive.

    with_softmax: True raises FormatError if the model has no softmax, None reads the softmax if there is one, and
        False does not touch it.
    """
    with opened(ModelFiles(path, weights)) as (known, files):
        return known.read(files, with_softmax=with_softmax)


@contextmanager
def opened(files: ModelFiles) -> Generator[tuple[Format, ModelFiles]]:
    """The first format that recognises these files, and the files; those of an archive while it is unpacked.

    Raises FormatError if no format does. Errors about files of an archive name the archive.
    """
    with _naming_failed_downloads(files):
        known = next((known for known in FORMATS if known.recognise(files)), None)
        if known is not None:
            yield known, files
            return
        if not files.is_archive:
            raise files.not_a_model()
    with unpacked(files.path) as folder, _naming_the_archive(files.path, folder):
        inside = ModelFiles(folder)
        with _naming_failed_downloads(inside):
            known = next((known for known in FORMATS if known.recognise(inside)), None)
            if known is None:
                reason = str(inside.not_a_model()).removeprefix(f"{folder}: ")
                raise FormatError(files.path, f"is {files.given[files.path].value}, and {reason}")
            yield known, inside


@contextmanager
def _naming_failed_downloads(files: ModelFiles) -> Generator[None]:
    """Where a model cannot be read, files that a failed download left in its folder are the likeliest reason."""
    try:
        yield
    except ValueError as error:
        kinds = files.given if files.weights is not None else files.in_folder | files.given
        for path, kind in kinds.items():
            if is_failed_download(path, kind):
                advice = "run `git lfs pull`" if kind is FileKind.GIT_LFS_POINTER else "download it again"
                raise FormatError(path, f"is {kind.value}; expected a model file: {advice}") from error
        raise


@contextmanager
def _naming_the_archive(archive: Path, folder: Path) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(str(error).replace(str(folder), str(archive))) from error
    except ValueError as error:  # also of a text file in it, whose lines are read elsewhere
        where, _, reason = str(error).replace(str(folder), str(archive)).partition(": ")
        raise FormatError(where, reason) from error
