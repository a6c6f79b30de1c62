"""Reads a model of any other format. The contents of the files decide which format it is, never their names.

`child.py` runs this module as a process with limits, because it parses files from others.
"""

from __future__ import annotations

import errno
import importlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from elmokit.files.archives import meant, unpacked
from elmokit.files.atomic import DISK_FULL
from elmokit.formats.file_kinds import ARCHIVES, PICKLES, kind_of, refuse_failed_download
from elmokit.formats.importers import allennlp, bilm_tf, many_langs
from elmokit.formats.importers.child import Report, memory_bytes, parts_of, processor_seconds
from elmokit.formats.importers.sources import Imported, IncompleteError, Sources
from elmokit.formats.inspection import Inspection, describe_native
from elmokit.formats.native import native_folder, open_weights, write_native
from elmokit.model.weights import SOFTMAX_BIAS, Weights
from elmokit.system.messages import FormatError, printable, readable_bytes

if sys.platform != "win32":
    import resource

MAX_OPEN_FILES = 64
IMPORTERS: tuple[tuple[str, str, Callable[[Sources], Imported | None]], ...] = (
    ("tensorflow", bilm_tf.CHECKPOINT, bilm_tf.load_checkpoint),
    ("allennlp", allennlp.DESCRIPTION, allennlp.load),
    ("many_langs", many_langs.DESCRIPTION, many_langs.load),
    ("token_vectors", bilm_tf.TOKEN_VECTORS, bilm_tf.load_token_vectors),
    ("bilm_tf", bilm_tf.PAIR, bilm_tf.load_pair),
)
"""Name, description and reader of each format. They are tried in this order."""


def load(path: Path, weights: Path | None = None, *, inspection: Inspection | None = None) -> Weights:
    """Read a model with its softmax, if it has one: a folder, a file in one, a pair of files, or an archive.

    inspection: filled with facts about the files, even if they are refused.
    Raises FormatError if the files are not a model. The error says what they are and what to do with them.
    """
    inspection = inspection or Inspection(path)
    if weights is None and (kind := kind_of(path)) in ARCHIVES:
        inspection.add_files(path)
        with unpacked(path) as folder:
            try:
                return _load_unpacked(folder, inspection)
            except FileNotFoundError as error:
                raise FileNotFoundError(str(error).replace(str(folder), str(path))) from error
            except ValueError as error:  # not only FormatError: `files/lines.py` reads text files in it
                said = str(error).replace(f"{folder}: ", f"{path}: is {kind.value}, and ", 1)
                where, _, reason = said.replace(str(folder), str(path)).partition(": ")
                raise FormatError(where, reason) from error
    sources = Sources(path, weights)
    try:
        return _load(sources, inspection)
    except FormatError as error:
        suspects = [file for file in sources.given if str(error).startswith((f"{file}:", f"{file},"))]
        if isinstance(error, IncompleteError):  # the likeliest reason is a failed download
            suspects += sources.given if weights is not None else sources.nearby
        for file in suspects:
            refuse_failed_download(file, error)
        raise


def _load(sources: Sources, inspection: Inspection) -> Weights:
    """The model from the first importer that recognises these files, or a native one (it may be in an archive)."""
    if sources.weights is None and (folder := native_folder(sources.path)) is not None:
        describe_native(folder, inspection)
        return open_weights(folder, with_softmax=True)
    previous = inspection.format, inspection.description
    for name, description, load_it in IMPORTERS:
        inspection.format, inspection.description = name, description  # in case it refuses the files
        imported = load_it(sources)
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
    """Load the unpacked files, or the only folder among them if only that contains a model."""
    try:
        return load(folder, inspection=inspection)
    except IncompleteError:
        folders = [path for path in meant(folder) if path.is_dir()]
        if len(folders) == 1:
            with suppress(IncompleteError):
                return _load_unpacked(folders[0], inspection)
        raise


def main(size: str, report: str, target: str, *given: str) -> None:
    """The limits depend on `size`, the number of bytes in the files. An empty `target` means None."""
    path, *weights = map(Path, given)
    if any(kind_of(part) in (*PICKLES, *ARCHIVES) for part in parts_of(path, *(weights or [None]))):
        importlib.import_module("torch")  # takes seconds, which must not count
    _limit_this_process(int(size))
    found = read(path, *weights, target=Path(target) if target else None, size=int(size))
    values = msgspec.to_builtins(found, enc_hook=str, str_keys=True)
    Path(report).write_bytes(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))  # for file names


def read(path: Path, weights: Path | None = None, *, target: Path | None, size: int) -> Report:
    """Read a model, and write it into the new folder `target`, if given."""
    inspection = Inspection(path)
    try:
        model = load(path, weights, inspection=inspection)
        if target is not None:
            write_native(target, model)
    except ValueError as error:
        return Report(inspection, str(error))
    except MemoryError:
        most = readable_bytes(memory_bytes(size))
        reason = f"is damaged, or made to fill the memory: reading it takes more than {most}"
        return Report(inspection, f"{path}: {reason}")
    except OSError as error:
        number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else errno.EIO)
        filename = error.filename if number in (*DISK_FULL, errno.EACCES) else None
        return Report(inspection, str(error), number, filename)
    return Report(inspection)


def _limit_this_process(num_bytes: int) -> None:
    """Limit memory, processor time and open files. Processor time that was used to start does not count."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + processor_seconds(num_bytes),
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    if sys.platform != "darwin":  # macOS counts reserved addresses, hundreds of GB from the start, and refuses less
        limits[resource.RLIMIT_DATA] = memory_bytes(num_bytes)
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
