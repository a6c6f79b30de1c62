"""Reading a model of another format, whatever it is: by the contents of its files, never by their names.

This runs in a child process (`importers/child.py`), because it parses files that others have made.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from types import ModuleType

from elmokit.files.archives import meant, unpacked
from elmokit.formats.file_kinds import ARCHIVES, is_about, kind_of, refuse_failed_download
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
    inspection = inspection or Inspection(path)
    if weights is None and (kind := kind_of(path)) in ARCHIVES:
        inspection.add_files(path)
        with unpacked(path) as folder:
            try:
                return _load_unpacked(folder, inspection)
            except FileNotFoundError as error:
                raise FileNotFoundError(str(error).replace(str(folder), str(path))) from error
            except ValueError as error:  # also of a text file in it, whose lines are read elsewhere
                said = str(error).replace(f"{folder}: ", f"{path}: is {kind.value}, and ", 1)
                where, _, reason = said.replace(str(folder), str(path)).partition(": ")
                raise FormatError(where, reason) from error
    sources = Sources(path, weights)
    try:
        return _load(sources, inspection)
    except FormatError as error:
        suspects = [file for file in sources.given if is_about(error, file)]
        if isinstance(error, IncompleteError):  # the likeliest reason is a failed download
            suspects += sources.given if weights is not None else sources.nearby
        for file in suspects:
            refuse_failed_download(file, error)
        raise


def _load(sources: Sources, inspection: Inspection) -> Weights:
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
    raise sources.not_a_model()


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
