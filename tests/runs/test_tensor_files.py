from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from elmokit.runs.tensor_files import read_tensors, write_tensors


def test_a_single_bit_is_noticed_wherever_it_is_except_in_files_of_earlier_versions(tmp_path: Path):
    path = tmp_path / "file"
    write_tensors(path, {"b": torch.ones(2, 3), "a": torch.tensor(5)}, metadata={"progress": "17"})
    assert torch.equal(read_tensors(path)["b"], torch.ones(2, 3))
    whole = path.read_bytes()
    for at in (whole.index(b"17"), len(whole) - 1, len(whole) - 28):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=r"/file: does not have the checksum that was written with it"):
            read_tensors(path)
    save_file({"a": torch.tensor(5)}, path, metadata={"progress": "16"})
    assert read_tensors(path) == {"a": torch.tensor(5)}
