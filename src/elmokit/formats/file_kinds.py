"""Kinds of files, recognised by their first bytes, not their names. Nothing is unpickled; little is unpacked.

The kinds include files of other tools that people may pass by mistake. The formats decide which files are a model.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from elmokit.files.hdf5 import SIGNATURE
from elmokit.files.json import MAX_BYTES, read_json
from elmokit.files.lines import BYTE_ORDER_MARK, GZIP_MAGIC, XZ_MAGIC, ZIP_MAGIC, read_chunks
from elmokit.files.safetensors import looks_like_safetensors
from elmokit.runs.folder import BILM_FORMAT, TASK_FORMAT
from elmokit.system.messages import FormatError

MAX_FILES = 1000
"""Maximum number of files in a model's folder."""
_HEAD_BYTES = 1024
_TENSORFLOW_TABLE = b"\x57\xfb\x80\x8b\x24\x75\x47\xdb"  # ends a LevelDB-style table, such as model.ckpt-N.index
_MARKUP = (b"<!doctype", b"<html", b"<head", b"<?xml", b"<error")
_ANYTHING: Any = Any
_GIT_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


class FileKind(Enum):
    """A kind of file. The value describes it in messages."""

    NATIVE_CONFIG = "a config.json of elmokit"
    TASK_CONFIG = "the config.json of a run of `elmokit train`"
    OPTIONS = "an options.json of bilm-tf"
    SAFETENSORS = "a safetensors file"
    HDF5 = "an HDF5 file"
    MANY_LANGS_CONFIG = "a config of ELMoForManyLangs"
    ALLENNLP_CONFIG = "a config of AllenNLP"
    JSON = "a JSON file"
    BROKEN_JSON = "a JSON file that cannot be read"
    PICKLE = "a Python pickle"
    TORCH_ZIP = "a PyTorch file (a zip with a pickle in it)"
    ZIP = "a zip archive"
    TAR = "a tar archive"
    TAR_GZ = "a gzip-compressed tar archive"
    GZIP = "a gzip-compressed file"
    XZ = "an xz-compressed file"
    BZIP2 = "a bzip2-compressed file"
    TENSORFLOW_INDEX = "a TensorFlow checkpoint index"
    TENSORFLOW_CHECKPOINT = "a TensorFlow checkpoint list"
    TENSORFLOW_SAVED_MODEL = "a SavedModel of TensorFlow"
    MARKUP = "a page of HTML or XML"
    GIT_LFS_POINTER = "a Git LFS pointer"
    TEXT = "a text file"
    EMPTY = "an empty file"
    BINARY = "a binary file of an unknown kind"
    FOLDER = "a folder"
    NOT_A_FILE = "a device, pipe or dangling link"


_SIGNATURES = {
    SIGNATURE: FileKind.HDF5,
    XZ_MAGIC: FileKind.XZ,
    b"BZh91AY&SY": FileKind.BZIP2,
    b"\x08\x01\x12": FileKind.TENSORFLOW_SAVED_MODEL,  # a protobuf: version 1, then the first graph
}
PICKLES = (FileKind.PICKLE, FileKind.TORCH_ZIP)
ARCHIVES = (FileKind.ZIP, FileKind.TAR, FileKind.TAR_GZ)
_NO_MODEL_IN_PICKLE = (
    "elmokit reads only the tensors of ELMo models from such files and runs nothing in them, because opening a pickle "
    "can run any code; convert its tensors to safetensors or HDF5 with the tool that wrote it"
)
_MODEL_ENDINGS = (".json", ".hdf5", ".h5", ".safetensors", ".th", ".pt", ".pkl", ".bin", ".index", ".dic")
ADVICE = {
    FileKind.SAFETENSORS: "there is no config.json of elmokit with it (a checkpoint of a run needs copies of the run's "
    "config.json and vocabulary.txt next to it)",
    **dict.fromkeys(PICKLES, _NO_MODEL_IN_PICKLE),
    **dict.fromkeys(ARCHIVES, "if the model is in an archive, give the archive itself"),
    **dict.fromkeys((FileKind.XZ, FileKind.BZIP2), "archives of models are read as zip, tar or tar.gz"),
    FileKind.MANY_LANGS_CONFIG: "a model of ELMoForManyLangs needs its encoder.pkl, token_embedder.pkl and word.dic",
    FileKind.ALLENNLP_CONFIG: "a model of AllenNLP needs its weights.th, with ELMo in it",
    FileKind.TENSORFLOW_SAVED_MODEL: "modules of TF-Hub are not read; use the released pair, options.json and HDF5",
    FileKind.FOLDER: "give the folder alone, or the two files",
    FileKind.TENSORFLOW_CHECKPOINT: "the .index and .data files of the checkpoint are not next to it",
}
"""What to do about a file that is not a model by itself."""


def kind_of(path: Path) -> FileKind:
    """The kind of a file. Raises OSError if it cannot be read."""
    if not path.is_file():
        return FileKind.FOLDER if path.is_dir() else FileKind.NOT_A_FILE
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        file.seek(max(0, path.stat().st_size - len(_TENSORFLOW_TABLE)))
        tail = file.read(len(_TENSORFLOW_TABLE))
    kind = FileKind.TENSORFLOW_INDEX if tail == _TENSORFLOW_TABLE else FileKind.BINARY
    return _by_signature(path, head) or _by_text(path, head) or kind


def kinds_in(folder: Path) -> dict[Path, FileKind]:
    """Kinds of all files in a folder. Raises FormatError for a folder with more than `MAX_FILES` files."""
    files = sorted(path for path in folder.iterdir() if not path.is_dir())
    if len(files) > MAX_FILES:
        reason = f"holds {len(files)} files, too many for a model: give the files of the model instead"
        raise FormatError(folder, reason)
    return {path: kind_of(path) for path in files}


@contextmanager
def naming_failed_download(path: Path) -> Generator[None]:
    """If reading this file fails because a download failed, raise an error that says so."""
    try:
        yield
    except FormatError as error:
        refuse_failed_download(path, error)
        raise


def refuse_failed_download(path: Path, error: FormatError) -> None:
    """Raise FormatError if a file with a model file's name is empty, a message from the server or a Git LFS pointer.

    error: the error that reading the file raised.
    """
    kind = kind_of(path)
    if kind is FileKind.GIT_LFS_POINTER:  # whatever its name: it may replace a vocabulary
        raise FormatError(path, f"is {kind.value}; expected a model file: run `git lfs pull`") from error
    is_text = path.suffix == ".dic" or (path.suffix == ".json" and kind is FileKind.JSON)
    is_message = kind in (FileKind.EMPTY, FileKind.MARKUP) or (kind in (FileKind.TEXT, FileKind.JSON) and not is_text)
    if is_message and (path.suffix in _MODEL_ENDINGS or path.suffix.startswith(".data-")):
        raise FormatError(path, f"is {kind.value}; expected a model file: download it again") from error


def _by_signature(path: Path, head: bytes) -> FileKind | None:
    if not head:
        return FileKind.EMPTY
    if looks_like_safetensors(head):
        return FileKind.SAFETENSORS
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return FileKind.PICKLE
    if head.startswith(ZIP_MAGIC):
        first_name = head[30 : 30 + int.from_bytes(head[26:28], "little")]
        return FileKind.TORCH_ZIP if first_name.endswith(b"/data.pkl") else FileKind.ZIP
    if head.startswith(GZIP_MAGIC):
        return FileKind.TAR_GZ if _is_tar(_start_unpacked(path)) else FileKind.GZIP
    if _is_tar(head):
        return FileKind.TAR
    return next((kind for signature, kind in _SIGNATURES.items() if head.startswith(signature)), None)


def _by_text(path: Path, head: bytes) -> FileKind | None:
    if b"\0" in head:
        return None
    if head.removeprefix(BYTE_ORDER_MARK).lstrip().startswith((b"{", b"[")):
        return _kind_of_json(path)
    if head.startswith(_GIT_LFS_POINTER):
        return FileKind.GIT_LFS_POINTER
    if head.removeprefix(BYTE_ORDER_MARK).lstrip().lower().startswith(_MARKUP):
        return FileKind.MARKUP
    if head.startswith(b"model_checkpoint_path:"):
        return FileKind.TENSORFLOW_CHECKPOINT
    try:
        head[:-3].decode("utf-8")  # the last character may be cut off
    except UnicodeDecodeError as error:
        return None if error.start < len(head) - 8 else FileKind.TEXT
    return FileKind.TEXT


def _kind_of_json(path: Path) -> FileKind:
    if path.stat().st_size > MAX_BYTES:
        return FileKind.JSON
    try:
        values = read_json(path, _ANYTHING, is_named=True)  # a link is harmless: no error quotes it
    except FormatError:
        return FileKind.BROKEN_JSON
    if not isinstance(values, dict):
        return FileKind.JSON
    if values.get("format") == BILM_FORMAT:
        return FileKind.NATIVE_CONFIG
    if values.get("format") == TASK_FORMAT:
        return FileKind.TASK_CONFIG
    if isinstance(values.get("lstm"), dict):
        return FileKind.OPTIONS
    if "config_path" in values:
        return FileKind.MANY_LANGS_CONFIG
    if isinstance(values.get("model"), dict) and ("dataset_reader" in values or "trainer" in values):
        return FileKind.ALLENNLP_CONFIG
    return FileKind.JSON


def _is_tar(head: bytes) -> bool:
    return head.startswith(b"ustar", 257)


def _start_unpacked(path: Path) -> bytes:
    try:
        return next(read_chunks(path, size=512), b"")
    except ValueError:  # the file is damaged
        return b""
