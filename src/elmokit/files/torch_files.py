"""State dicts in PyTorch's files (.pkl, .th, .pt), read by `torch.load(weights_only=True)`, which runs no code.

A pickle can still take a lot of memory or time, so files from elsewhere are read in a process with limits.
"""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from elmokit.files.lines import ZIP_MAGIC
from elmokit.files.weights_file import Array, Entry
from elmokit.system.messages import FormatError, printable
from elmokit.system.paths import first_bytes

if TYPE_CHECKING:
    from torch import Tensor

_OLD_START = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."  # until PyTorch 1.5: a pickled number


class TorchFile:
    """The tensors of a state dict by name."""

    def __init__(self, path: Path, tensors: Mapping[str, Tensor]) -> None:
        self.path = path
        self.entries: Final = {name: _described(tensor) for name, tensor in tensors.items()}
        self._tensors = tensors

    def read(self, name: str) -> Array:
        """Read a tensor whose entry has no refusal, as float32. Writing to it does not change the file."""
        return np.require(self._tensors[name].float().numpy(force=True), np.float32, ["ALIGNED", "C_CONTIGUOUS"])


def _described(tensor: Tensor) -> Entry:
    dtype = str(tensor.dtype).removeprefix("torch.")
    refusal = None if tensor.is_floating_point() else f"is of type {dtype}; expected floats"
    return Entry(tuple(tensor.shape), dtype, refusal)


def looks_like_torch_file(path: Path) -> bool:
    """Whether the file starts like a PyTorch file. Other pickles start differently."""
    return first_bytes(path, len(_OLD_START)).startswith((_OLD_START, ZIP_MAGIC))


def read_torch_file(path: Path) -> TorchFile:
    """The state dict in a file, without the entries that are not tensors. Imports torch."""
    try:
        is_zip = zipfile.is_zipfile(path)
        if is_zip:
            _check_zip(path)
        torch: Any = importlib.import_module("torch")  # `inspect` needs it for such files only
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=is_zip)
        if not isinstance(state, dict):
            raise FormatError(path, "holds no state dict (a dict of tensors by name)")
        named = [(name, value) for name, value in cast("dict[object, Any]", state).items() if isinstance(name, str)]
        tensors: dict[str, Tensor] = {
            name: value
            for name, value in named
            if isinstance(value, torch.Tensor) and value.layout is torch.strided and value.is_cpu
        }
    except FormatError:
        raise
    except Exception as error:  # for damaged files torch raises almost any error
        found = error.__context__ or error  # without torch's advice, put before it, to run the file
        said = printable((str(found) or type(found).__name__).strip().partition("\n")[0])
        reason = f"is damaged, or holds more than a state dict (nothing in it was run): {said}"
        raise FormatError(path, reason) from error
    return TorchFile(path, tensors)


def _check_zip(path: Path) -> None:
    """Raise FormatError for a damaged archive, or one that PyTorch would not write. Torch does not verify checksums."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
                raise FormatError(path, "is compressed or encrypted, unlike files of PyTorch", part=member.filename)
        if (damaged := archive.testzip()) is not None:
            raise FormatError(path, "is damaged: its checksum does not match", part=damaged)
