from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from elmokit.runs.tensor_files import read_tensors, write_tensors


def test_tensors_come_back_bit_by_bit_and_the_file_is_the_librarys(tmp_path: Path):
    torch.manual_seed(0)
    tensors = {
        "weights": torch.randn(4, 3, requires_grad=True),
        "turned": torch.randn(3, 5).T,
        "step": torch.tensor(7.0),
        "exact": torch.randn(2, dtype=torch.float64),
        "ids": torch.arange(5),
    }
    write_tensors(tmp_path / "ours", tensors, metadata={"step": "7"})
    save_file({name: each.contiguous() for name, each in tensors.items()}, tmp_path / "theirs", metadata={"step": "7"})
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    read = read_tensors(tmp_path / "ours")
    assert read.metadata == {"step": "7"} and read.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(read.tensors[name], tensor) and read.tensors[name].dtype == tensor.dtype


def test_a_damaged_file_is_named(tmp_path: Path):
    write_tensors(tmp_path / "file", {"weights": torch.zeros(4)})
    whole = (tmp_path / "file").read_bytes()
    for content in (b"", whole[:-1], whole + b"\0", whole.replace(b'"F32"', b'"F99"'), whole.replace(b"[4]", b"[5]")):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(ValueError, match=r"/file: "):
            read_tensors(tmp_path / "file")
