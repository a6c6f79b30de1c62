"""Reading a model of another format, whatever it is: by the contents of its files, never by their names.

This runs in a child process (`importers/child.py`), because it parses files that others have made.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType

from elmokit.files.archives import meant, unpacked
from elmokit.formats.file_kinds import is_failed_download, naming_failed_downloads, refuse_failed_download
from elmokit.formats.importers import allennlp, bilm_tf, many_langs, tensorflow, token_vectors
from elmokit.formats.importers.sources import Imported, IncompleteError, Sources
from elmokit.formats.inspection import Inspection, describe_native
from elmokit.formats.native import native_folder, open_weights
from elmokit.model.weights import SOFTMAX_BIAS, Weights
from elmokit.system.messages import FormatError, printable

IMPORTERS: tuple[ModuleType, ...] = (tensorflow, allennlp, many_langs, token_vectors, bilm_tf)
"""The formats, in the order of trying; each has `NAME`, `DESCRIPTION` and `load`."""


def load(path: Path, weights: Path | None = None, *, inspection: Inspection | None = None) -> Weights:
    """Read a model with its softmax, if it has one: a folder, a file in one, a pair of files, or an archive.

    inspection: gets what becomes known about the files, also if they are refused.
    Raises FormatError if the files are not a model, which says what they are instead and what to do with them.
    """
    sources = Sources(path, weights)
    inspection = inspection or Inspection(path)
    with _naming_failed_downloads(sources):
        found = _load(sources, inspection)
        if found is not None:
            return found
        if not sources.is_archive:
            raise sources.not_a_model()
    inspection.add_files(path)
    with unpacked(path) as folder, _naming_the_archive(sources, folder):
        return _load_unpacked(folder, inspection)


def _load(sources: Sources, inspection: Inspection) -> Weights | None:
    """The model of the first importer that knows these files; also a native one, which may be in an archive."""
    if sources.weights is None and (folder := native_folder(sources.path)) is not None:
        describe_native(folder, inspection)
        return open_weights(folder, with_softmax=True)
    for importer in IMPORTERS:
        previous = inspection.format, inspection.description
        inspection.format, inspection.description = importer.NAME, importer.DESCRIPTION  # if it refuses the files
        imported: Imported | None = importer.load(sources)
        if imported is not None:
            _describe(imported, inspection)
            return imported.weights
        inspection.format, inspection.description = previous
    return None


def _describe(imported: Imported, inspection: Inspection) -> None:
    weights = imported.weights
    inspection.add_files(*imported.files)
    inspection.config, inspection.dtypes, inspection.mixes = weights.config, imported.dtypes, imported.mixes
    inspection.risks += [printable(risk) for risk in imported.risks]
    if weights.has_softmax:
        inspection.num_softmax_rows = len(weights.tensors[SOFTMAX_BIAS])
    if weights.vocabulary is not None:
        inspection.vocabulary_size = len(weights.vocabulary)


def _load_unpacked(folder: Path, inspection: Inspection) -> Weights:
    """What was unpacked, or the only folder in it, if that holds a model and the files next to it do not."""
    try:
        return load(folder, inspection=inspection)
    except IncompleteError:
        folders = [path for path in meant(folder) if path.is_dir()]
        if len(folders) == 1:
            with suppress(IncompleteError):
                return _load_unpacked(folders[0], inspection)
        raise


@contextmanager
def _naming_failed_downloads(sources: Sources) -> Generator[None]:
    """If files are missing, the likeliest reason is a failed download, which left something else in their place."""
    try:
        with naming_failed_downloads(sources.given):
            yield
    except IncompleteError as error:
        for path, kind in (sources.given if sources.weights is not None else sources.nearby).items():
            if is_failed_download(path, kind):
                refuse_failed_download(path, error)
        raise


@contextmanager
def _naming_the_archive(sources: Sources, folder: Path) -> Generator[None]:
    """Errors about files of an archive name the archive, not the temporary folder."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(str(error).replace(str(folder), str(sources.path))) from error
    except ValueError as error:  # also of a text file in it, whose lines are read elsewhere
        said = str(error).replace(f"{folder}: ", f"{folder}: is {sources.given[sources.path].value}, and ", 1)
        where, _, reason = said.replace(str(folder), str(sources.path)).partition(": ")
        raise FormatError(where, reason) from error
