"""PyTorch's files: the tensors in them, and no code that a stranger has put into them."""

from __future__ import annotations

import io
import os
import pickle
import warnings
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attacks.mutations import mutants
from elmokit.files.torch_files import read_torch_file
from elmokit.system.messages import FormatError

MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"

old_and_new = pytest.mark.parametrize("new", [False, True], ids=["old container", "new container"])


def saved(value: object, path: Path, *, new: bool, **settings: Any) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=new, **settings)
    return path


@old_and_new
def test_views_parameters_and_other_types_are_read(tmp_path: Path, new: bool) -> None:
    rows = torch.arange(12.0).view(3, 4)
    state = OrderedDict(
        turned=rows.t(), row=rows[1, 1:3], half=rows.half(), double=rows.double(), none=rows[:0], step=7
    )
    state["parameter"] = torch.nn.Parameter(rows)
    file = read_torch_file(saved(state, tmp_path / "file.pt", new=new))
    assert set(file.tensors) == set(state) - {"step"}
    for name in file.tensors:
        assert np.array_equal(file.read(name), state[name].detach().float().numpy()), name
    assert file.dtypes() == ["float16", "float32", "float64"]


class Hostile:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call[0], self.call[1:]


@old_and_new
def test_code_in_a_pickle_is_named_and_not_run(tmp_path: Path, new: bool) -> None:
    target = tmp_path / "executed"
    hostile = {"a": torch.ones(3), "b": Hostile(os.mkdir, str(target))}
    path = saved(hostile, tmp_path / "file.pt", new=new)
    with pytest.raises(FormatError, match=r"file\.pt: is damaged, or holds more .*: .* posix\.mkdir"):
        read_torch_file(path)
    assert not target.exists()


@pytest.mark.parametrize("content", [b"", pickle.dumps({"a": 1}, protocol=2), MAGIC + b"N.", b"PK\x03\x04"])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.pkl").write_bytes(content)
    with pytest.raises(FormatError, match="is damaged, or holds more than a state dict"):
        read_torch_file(tmp_path / "file.pkl")


@old_and_new
def test_something_else_than_a_state_dict_is_refused(tmp_path: Path, new: bool) -> None:
    with pytest.raises(FormatError, match="holds no state dict"):
        read_torch_file(saved([torch.ones(3)], tmp_path / "file.pt", new=new))


@old_and_new
def test_gigabytes_out_of_a_few_numbers_are_refused(tmp_path: Path, new: bool) -> None:
    numbers = torch.zeros(1000)
    for state in ({"a": numbers.expand(1 << 20, 1000)}, {str(start): numbers[start:] for start in range(10)}):
        with pytest.raises(FormatError, match=r"declares tensors of .* in a file of"):
            read_torch_file(saved(state, tmp_path / "file.pt", new=new))


def with_view(path: Path, *, new: bool, **changes: Any) -> Path:
    """A file in which a tensor claims another place in its storage than it has."""
    tensor = torch.arange(6.0)
    view = {"storage_offset": 0, "size": (2, 3), "stride": (3, 1), **changes}

    class Claim:
        def __reduce__(self) -> tuple[Any, ...]:
            place = (view["storage_offset"], view["size"], view["stride"])
            return torch._utils._rebuild_tensor_v2, (tensor.storage(), *place, False, OrderedDict())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns, once, of the storage that its own files name
        return saved({"a": Claim()}, path, new=new)


@pytest.mark.parametrize(
    "claim",
    [{"storage_offset": 1}, {"size": (3, 3)}, {"size": (1 << 40, 1 << 18), "stride": (0, 0)}, {"stride": (6, 1)}],
)
@old_and_new
def test_a_tensor_that_reaches_out_of_its_storage_is_refused(tmp_path: Path, new: bool, claim: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"is damaged, or holds more than|declares tensors of"):
        read_torch_file(with_view(tmp_path / "file.pt", new=new, **claim))


def test_a_changed_element_of_a_new_file_is_noticed(tmp_path: Path) -> None:
    path = saved({"a": torch.full((5,), 3.0)}, tmp_path / "file.pt", new=True)
    content = path.read_bytes()
    elements = np.full(5, 3.0, np.float32).tobytes()
    path.write_bytes(content.replace(elements, elements[:-1] + b"\x00"))
    with pytest.raises(FormatError, match=r"file/data/0: is damaged: its checksum"):
        read_torch_file(path)


def test_numbers_that_are_no_weights_are_refused(tmp_path: Path) -> None:
    state = {"long": torch.ones(2, dtype=torch.int64), "nan": torch.tensor([1.0, float("nan")])}
    file = read_torch_file(saved(state, tmp_path / "file.pt", new=True))
    for name, reason in (("long", "is of type int64"), ("nan", "holds NaN"), ("other", "is missing")):
        with pytest.raises(FormatError, match=f"tensor {name}: {reason}"):
            file.read(name)


@pytest.mark.parametrize("name", ["many_langs/word_only/encoder.pkl", "allennlp/elmo_two_mixes.state_dict.th"])
def test_damaged_files_are_read_or_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.pt"
    for content in mutants((FIXTURES / name).read_bytes(), number=40, seed=7):
        path.write_bytes(content)
        try:
            file = read_torch_file(path)
            for tensor in file.tensors:
                file.read(tensor)
        except FormatError as error:
            assert str(path) in str(error)


def test_a_compressed_file_is_not_of_pytorch(tmp_path: Path) -> None:
    plain = io.BytesIO()
    torch.save({"a": torch.zeros(5)}, plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(tmp_path / "file.pt", "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.infolist():
            target.writestr(member.filename, source.read(member))
    with pytest.raises(FormatError, match="is compressed or encrypted; PyTorch does neither"):
        read_torch_file(tmp_path / "file.pt")
