from pathlib import Path

import torch
from safetensors.torch import save_file

from elmokit.runs.tensor_files import read_tensors, write_tensors


def test_tensors_are_read_back_also_those_of_earlier_versions(tmp_path: Path):
    path = tmp_path / "file"
    write_tensors(path, {"b": torch.ones(3, 2).t(), "a": torch.tensor(5)}, metadata={"step": "17"})
    assert torch.equal(read_tensors(path)["b"], torch.ones(2, 3)) and read_tensors(path)["a"] == 5
    save_file({"a": torch.tensor(5)}, path, metadata={"checksum": "00"})
    assert read_tensors(path) == {"a": torch.tensor(5)}
