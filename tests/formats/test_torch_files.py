"""PyTorch's files: their tensors are read, and no code in them is run."""

import io
import os
import pickle
import shutil
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmokit.files.torch_files import read_torch_file
from elmokit.files.weights_file import check_entry, read_finite
from elmokit.system.messages import FormatError
from toy_stored import assert_refused, read_stored

MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)


@pytest.fixture(params=[False, True], ids=["old container", "new container"])
def new(request: pytest.FixtureRequest) -> bool:
    return request.param


def saved(value: object, path: Path, *, new: bool, **settings: Any) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=new, **settings)
    return path


def test_views_parameters_and_other_types_are_read(tmp_path: Path, new: bool):
    rows = torch.arange(12.0).view(3, 4)
    state = OrderedDict(
        turned=rows.t(), row=rows[1, 1:3], half=rows.half(), double=rows.double(), none=rows[:0], step=7
    )
    state["parameter"] = torch.nn.Parameter(rows)
    state["negated"] = torch.complex(torch.zeros(3), -torch.arange(3.0)).conj().imag
    assert state["negated"].is_neg()  # negated lazily: the file records that
    state["half and negated"] = state["negated"].half()
    file = read_torch_file(saved(state, tmp_path / "file.pt", new=new))
    assert set(file.entries) == set(state) - {"step"}
    for name in file.entries:
        assert np.array_equal(file.read(name), state[name].detach().float().resolve_neg().numpy()), name
    assert {entry.dtype for entry in file.entries.values()} == {"float16", "float32", "float64"}


class Hostile:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call[0], self.call[1:]


@pytest.mark.filterwarnings("ignore:Detected pickle protocol 4")  # torch's own warning
@pytest.mark.parametrize("protocol", [2, 4])
def test_code_in_a_pickle_is_not_run(tmp_path: Path, new: bool, protocol: int):
    hostile = {"a": torch.ones(3), "b": Hostile(os.mkdir, str(tmp_path / "executed"))}
    path = saved(hostile, tmp_path / "file.pt", new=new, pickle_protocol=protocol)
    with pytest.raises(FormatError, match="file.pt: is damaged, or holds more .*nothing in it was run"):
        read_torch_file(path)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("content", [b"", pickle.dumps({"a": 1}, protocol=2), MAGIC + b"N.", b"PK\x03\x04"])
def test_other_files_are_refused(tmp_path: Path, content: bytes):
    (tmp_path / "file.pkl").write_bytes(content)
    with pytest.raises(FormatError, match="is damaged, or holds more than a state dict"):
        read_torch_file(tmp_path / "file.pkl")


def test_something_else_than_a_state_dict_is_refused(tmp_path: Path, new: bool):
    with pytest.raises(FormatError, match="holds no state dict"):
        read_torch_file(saved([torch.ones(3)], tmp_path / "file.pt", new=new))


@pytest.mark.parametrize("name", ["allennlp/elmo_two_mixes.state_dict.th", "many_langs/word_only/encoder.pkl"])
def test_more_layers_than_any_model_has_are_refused(tmp_path: Path, name: str, new: bool):
    folder = shutil.copytree((Path(__file__).parents[1] / "fixtures" / "formats" / name).parent, tmp_path / "model")
    path = folder / Path(name).name
    (folder / "cnn_50_100_512_4096_sample.json").unlink(missing_ok=True)
    state = torch.load(path, weights_only=True, map_location="cpu")
    shared = {key: value for key, value in state.items() if "ward_layer_1." in key}

    def with_layers(number: int) -> Path:
        layers = [{key.replace("_1.", f"_{n}."): value for key, value in shared.items()} for n in range(2, number)]
        return saved({**state, **{key: value for layer in layers for key, value in layer.items()}}, path, new=new)

    assert read_stored(with_layers(40)).config.num_layers == 40
    assert_refused("num_layers is 65; expected at most 64", with_layers(65))


@pytest.mark.parametrize(
    "claim",
    [(1, (2, 3), (3, 1)), (0, (3, 3), (3, 1)), (0, (2, 3), (6, 1))],
    ids=["offset", "size", "stride"],
)
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")  # torch's files name it, yet torch warns of it
def test_a_tensor_that_reaches_out_of_its_storage_is_refused(tmp_path: Path, new: bool, claim: tuple[Any, ...]):
    hostile = Hostile(torch._utils._rebuild_tensor_v2, torch.arange(6.0).storage(), *claim, False, OrderedDict())
    with pytest.raises(FormatError, match="is damaged, or holds more than"):
        read_torch_file(saved({"a": hostile}, tmp_path / "file.pt", new=new))


def test_numbers_that_are_no_weights_and_a_changed_element_are_refused(tmp_path: Path):
    state = {"long": torch.ones(2, dtype=torch.int64), "nan": torch.tensor([1.0, float("nan")])}
    file = read_torch_file(saved(state, tmp_path / "file.pt", new=True))
    for name, reason in (("long", "is of type int64"), ("nan", "holds NaN"), ("other", "is missing")):
        with pytest.raises(FormatError, match=f"tensor {name}: {reason}"):
            check_entry(file, name, (2,), expected="")
            read_finite(file, name)
    path = saved({"a": torch.full((5,), 3.0)}, tmp_path / "file.pt", new=True)
    content = path.read_bytes()
    elements = np.full(5, 3.0, np.float32).tobytes()
    path.write_bytes(content.replace(elements, elements[:-1] + b"\x00"))
    with pytest.raises(FormatError, match=r"file/data/0: is damaged: its checksum"):
        read_torch_file(path)


def test_a_compressed_file_is_not_of_pytorch(tmp_path: Path):
    plain = io.BytesIO()
    torch.save({"a": torch.zeros(5)}, plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(tmp_path / "file.pt", "w", zipfile.ZIP_DEFLATED) as target:
        for member in source.infolist():
            target.writestr(member.filename, source.read(member))
    with pytest.raises(FormatError, match="is compressed or encrypted, unlike files of PyTorch"):
        read_torch_file(tmp_path / "file.pt")
