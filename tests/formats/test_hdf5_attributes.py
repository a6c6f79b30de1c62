"""Attributes of HDF5 files are read without the library, which never returns from a heap of texts that is damaged."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from elmokit.files.hdf5_numbered import NumberedDatasets, text_attributes
from elmokit.system.messages import FormatError

TEXTS = {"model": "밥 0123456789abcdef", "empty": "", "layers": "average", "fixed": "of one length"}


def write(path: Path, libver: str) -> None:
    with h5py.File(path, "w", libver=libver) as file:
        file.attrs.update({name: text for name, text in TEXTS.items() if name != "fixed"})
        file.attrs["fixed"] = np.bytes_(TEXTS["fixed"])
        file.attrs.update({"number": 3, "list": ["a", "b"], "long": "x" * 20_000})
        file.create_dataset("0", data=np.zeros((1, 2), np.float32))


@pytest.mark.parametrize("libver", ["earliest", "v108", "latest"])
def test_short_texts_are_read_and_everything_else_is_left_out(tmp_path: Path, libver: str):
    write(tmp_path / "file.h5", libver)
    assert NumberedDatasets(tmp_path / "file.h5").attributes() == TEXTS


@pytest.mark.parametrize("libver", ["earliest", "v108"])
def test_whatever_is_damaged_there_are_texts_or_a_refusal(tmp_path: Path, libver: str):
    path, damaged = tmp_path / "file.h5", tmp_path / "damaged.h5"
    write(path, libver)
    address = 48 if libver == "v108" else 96  # of the header of the root group, after that of the file
    assert text_attributes(path, address) == TEXTS
    content = path.read_bytes()
    start = content.index(b"GCOL")
    refused = 0
    for at in [*range(address, address + 500, 9), *range(start, start + 400, 9)]:
        for new in (b"\0\0", b"\xff\xff"):
            damaged.write_bytes(content[:at] + new + content[at + 2 :])
            try:
                assert isinstance(text_attributes(damaged, address), dict)
            except FormatError as error:
                assert str(error).startswith(f"{damaged}: attributes: cannot be read: ")
                refused += 1
    assert refused > 10
