"""PyTorch's files: the tensors that torch reads from them, and no code that a stranger has put into them."""

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

FIXTURES = Path(__file__).parents[1] / "fixtures" / "formats"
FILES = sorted([*FIXTURES.glob("*/*/*.pkl"), *FIXTURES.glob("*/*.th")])

old_and_new = pytest.mark.parametrize("new", [False, True], ids=["old container", "new container"])


def saved(value: object, path: Path, *, new: bool, **settings: Any) -> Path:
    torch.save(value, path, _use_new_zipfile_serialization=new, **settings)
    return path


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_tensor_of_a_published_file_is_that_which_torch_reads(path: Path) -> None:
    theirs = torch.load(path, map_location="cpu", weights_only=True)
    ours = read_torch_file(path)
    assert list(ours.tensors) == list(theirs)
    assert all(np.array_equal(ours.read(name), tensor.numpy()) for name, tensor in theirs.items())


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


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@old_and_new
def test_all_protocols_of_pickle_are_read(tmp_path: Path, protocol: int, new: bool) -> None:
    path = saved({"a": torch.ones(3)}, tmp_path / "file.pt", new=new, pickle_protocol=protocol)
    assert read_torch_file(path).read("a").tolist() == [1.0, 1.0, 1.0]


@old_and_new
def test_what_is_written_to_a_tensor_does_not_reach_the_file(tmp_path: Path, new: bool) -> None:
    path = saved({"a": torch.ones(3)}, tmp_path / "file.pt", new=new)
    before = path.read_bytes()
    read_torch_file(path).read("a")[:] = 5.0
    assert path.read_bytes() == before


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
    with pytest.raises(FormatError, match=r"file\.pt: pickle, byte \d+: asks for posix\.mkdir, which .*nothing in it"):
        read_torch_file(path)
    assert not target.exists()


CALLS = {
    "a storage": (torch.FloatStorage, 10**12),
    "a dict of no pairs": (OrderedDict, [1, 2]),
    "a tensor of nothing": (torch._utils._rebuild_tensor_v2, None, 0, (1,), (1,), False, OrderedDict()),
}


@pytest.mark.parametrize("name", CALLS)
def test_known_names_are_called_only_as_state_dicts_call_them(tmp_path: Path, name: str) -> None:
    content = pickle.dumps({"a": Hostile(*CALLS[name])}, protocol=2)
    with zipfile.ZipFile(tmp_path / "file.pt", "w") as archive:
        archive.writestr("file/data.pkl", content)
    with pytest.raises(FormatError, match=r"pickle, byte \d+: "):
        read_torch_file(tmp_path / "file.pt")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (pickle.dumps({"a": 1}, protocol=2), "is a pickle, but not a file of PyTorch"),
        (pickle.dumps(1.5, protocol=0), r"has the opcode b'F'"),
        (b"\x80\x02h\x00.", "refers to a value that is not there"),
        (b"\x80\x02u.", "a container has no beginning"),
        (b"\x80\x02R.", "should have a object here"),
        (b"\x80\x02}]NNs.", "should have a dict here|without texts"),
        (b"\x80\x02X\xff\xff\xff\xff.", "is cut short"),
        (b"\x80\x02K\x01Q.", "should have a tuple here"),
        (b"\x80\x02)Q.", "is not a storage of tensors"),
        (b"\x80\x04K\x01K\x02\x93.", "has something other than a text for a name"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", r"asks for os\.system, which the state dict"),
    ],
)
def test_other_pickles_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "file.pkl").write_bytes(content)
    with pytest.raises(FormatError, match=reason):
        read_torch_file(tmp_path / "file.pkl")


MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2)
PAIRS_MANY_TIMES = b"](" + b"]" * 1000 + b"eq\x00" + b"ccollections\nOrderedDict\nq\x01" + b"h\x01h\x00\x85R" * 10_000


@pytest.mark.parametrize("content", [b"}" * 500_001, b"(" * 500_001, b"N" + b"\x94" * 500_001, PAIRS_MANY_TIMES])
def test_a_pickle_of_too_many_steps_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.pkl").write_bytes(b"\x80\x04" + content + b"N.")
    with pytest.raises(FormatError, match="has more than 500,000 steps"):
        read_torch_file(tmp_path / "file.pkl")


@pytest.mark.parametrize(
    ("head", "reason"), [([1002], "of a version of PyTorch"), ([1001, {"little_endian": False}], "from a machine")]
)
def test_nothing_is_read_after_a_version_or_a_machine_that_is_not_supported(
    tmp_path: Path, head: list[object], reason: str
) -> None:
    (tmp_path / "file.pkl").write_bytes(MAGIC + b"".join(pickle.dumps(value, protocol=2) for value in head) + b"R.")
    with pytest.raises(FormatError, match=f"is {reason} that is not supported"):
        read_torch_file(tmp_path / "file.pkl")


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
    with pytest.raises(FormatError, match=r"tensor a: of shape .* is not within its storage of 6 elements"):
        read_torch_file(with_view(tmp_path / "file.pt", new=new, **claim))


def test_a_changed_element_of_a_new_file_is_noticed(tmp_path: Path) -> None:
    path = saved({"a": torch.full((5,), 3.0)}, tmp_path / "file.pt", new=True)
    content = path.read_bytes()
    elements = np.full(5, 3.0, np.float32).tobytes()
    path.write_bytes(content.replace(elements, elements[:-1] + b"\x00"))
    with pytest.raises(FormatError, match=r"storage 0: is damaged: its checksum"):
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
    for content in mutants((FIXTURES / name).read_bytes(), number=120, seed=7):
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
