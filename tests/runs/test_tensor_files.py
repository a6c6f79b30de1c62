from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from elmokit.runs.tensor_files import read_tensors, write_tensors


def test_tensors_come_back_bit_by_bit_and_the_library_reads_them(tmp_path: Path):
    torch.manual_seed(0)
    tensors = {
        "weights": torch.randn(4, 3, requires_grad=True),
        "turned": torch.randn(3, 5).T,
        "step": torch.tensor(7.0),
        "exact": torch.randn(2, dtype=torch.float64),
        "ids": torch.arange(5),
    }
    write_tensors(tmp_path / "file", tensors, metadata={"step": "7"})
    theirs = load_file(tmp_path / "file")
    read = read_tensors(tmp_path / "file")
    assert read.keys() == theirs.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(read[name], tensor) and torch.equal(theirs[name], tensor)
        assert read[name].dtype == tensor.dtype


def test_a_single_bit_is_noticed_wherever_it_is_except_in_files_of_earlier_versions(tmp_path: Path):
    path = tmp_path / "file"
    write_tensors(path, {"b": torch.ones(2, 3), "a": torch.tensor(5)}, metadata={"progress": "17"})
    whole = path.read_bytes()
    for at in (whole.index(b"17"), len(whole) - 1, len(whole) - 28):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=r"/file: does not have the checksum that was written with it"):
            read_tensors(path)
    save_file({"a": torch.tensor(5)}, path, metadata={"progress": "16"})
    assert read_tensors(path) == {"a": torch.tensor(5)}
