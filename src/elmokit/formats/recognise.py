"""The format of a model, by the contents of its files, never by their names: read into NumPy, or only described."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.archives import meant, unpacked
from elmokit.formats.allennlp import ALLENNLP
from elmokit.formats.bilm_tf import BILM_TF
from elmokit.formats.file_kinds import FileKind, is_failed_download
from elmokit.formats.format import Format, Inspection
from elmokit.formats.many_langs import MANY_LANGS
from elmokit.formats.model_files import ModelFiles, StrPath
from elmokit.formats.native import NATIVE
from elmokit.formats.tensorflow import TENSORFLOW
from elmokit.formats.token_vectors import TOKEN_VECTORS
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from elmokit.formats.weights import StoredBiLM

FORMATS: tuple[Format, ...] = (NATIVE, TENSORFLOW, ALLENNLP, MANY_LANGS, TOKEN_VECTORS, BILM_TF)
"""All formats, in the order in which they are tried on files."""


def read_stored(path: StrPath, weights: StrPath | None = None, *, with_softmax: bool = False) -> StoredBiLM:
    """Read a model in any format: a name, a folder, a file in one, a pair of files (in either order), or an archive.

    with_softmax: whether to read the softmax, too, if there is one.

    Raises the errors of `resolve_model` if there is no such model, and FormatError if the files are not a model, which
    says what they are instead and what to do with them.
    """
    with opened(ModelFiles(path, weights)) as (known, files):
        return known.read(files, with_softmax)


def inspect(path: StrPath, weights: StrPath | None = None) -> Inspection:
    """`elmokit inspect`: what the files of a model in any format say, without reading weights.

    The first thing that is wrong with them becomes its refusal, except that there is no such model
    (FileNotFoundError). Only files of PyTorch need torch.
    """
    files = ModelFiles(path, weights)
    inspection = Inspection(files.path)
    try:
        with opened(files) as (known, found):
            inspection.format, inspection.description = known.name, known.description
            known.inspect(found, inspection)
    except (ValueError, OSError) as error:
        inspection.refusals.append(str(error))
    if files.is_archive:
        inspection.add_files(files.path)
    return inspection


@contextmanager
def opened(files: ModelFiles) -> Generator[tuple[Format, ModelFiles]]:
    """The first format that recognises these files, and the files; those of an archive while it is unpacked.

    Raises FormatError if no format does. Errors about files of an archive name the archive.
    """
    with _naming_failed_downloads(files):
        known = _format_of(files)
        if known is not None:
            yield known, files
            return
        if not files.is_archive:
            raise files.not_a_model()
    with unpacked(files.path) as folder, _naming_the_archive(files, folder), opened(_model_in(folder)) as inside:
        yield inside


def _format_of(files: ModelFiles) -> Format | None:
    return next((known for known in FORMATS if known.recognise(files)), None)


def _model_in(folder: Path) -> ModelFiles:
    """The files of what was unpacked; those of its only folder, if they are a model and the ones next to it are not."""
    files, folders = ModelFiles(folder), [path for path in meant(folder) if path.is_dir()]
    if len(folders) != 1 or _format_of(files) is not None:
        return files
    inner = _model_in(folders[0])
    return files if _format_of(inner) is None else inner


@contextmanager
def _naming_failed_downloads(files: ModelFiles) -> Generator[None]:
    """Where a model cannot be read, files that a failed download left in its folder are the likeliest reason."""
    try:
        yield
    except ValueError as error:
        kinds = files.given if files.weights is not None else files.nearby
        for path, kind in kinds.items():
            if is_failed_download(path, kind):
                advice = "run `git lfs pull`" if kind is FileKind.GIT_LFS_POINTER else "download it again"
                raise FormatError(path, f"is {kind.value}; expected a model file: {advice}") from error
        raise


@contextmanager
def _naming_the_archive(files: ModelFiles, folder: Path) -> Generator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(str(error).replace(str(folder), str(files.path))) from error
    except ValueError as error:  # also of a text file in it, whose lines are read elsewhere
        said = str(error).replace(f"{folder}: ", f"{folder}: is {files.given[files.path].value}, and ", 1)
        where, _, reason = said.replace(str(folder), str(files.path)).partition(": ")
        raise FormatError(where, reason) from error
