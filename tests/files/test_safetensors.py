import errno
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from elmokit.files.safetensors import DTYPES, map_weights, read_arrays, read_layout, write_arrays
from elmokit.system.messages import FormatError
from limited_disk import files_of_at_most
from toy_stored import without_allocation


def arrays_of_every_type() -> dict[str, np.ndarray]:
    """Arrays named in another order than their types; some have no dimension, no numbers or an odd name."""
    random = np.random.default_rng(0)
    arrays = {
        f"{9 - number}.{name}": (random.normal(size=(3, number + 1)) * 9).astype(dtype)
        for number, (name, dtype) in enumerate(DTYPES.items())
    }
    one_each = {f"{number}": np.ones((), dtype) for number, dtype in enumerate(DTYPES.values())}
    return arrays | one_each | {'밥"\n\x01\x7f\U0001f600': np.zeros((0, 3), np.float32), "": np.ones(5, np.float16)}


@pytest.mark.parametrize("metadata", [None, {"progress": '{"é": "\\u00e9"}\t'}])
def test_what_was_written_is_read_also_by_the_library(tmp_path: Path, metadata: dict[str, str] | None):
    path, arrays = tmp_path / "file", arrays_of_every_type()
    save_file(arrays, tmp_path / "theirs", metadata=metadata)
    write_arrays(path, arrays, metadata=metadata)
    assert path.read_bytes() == (tmp_path / "theirs").read_bytes()
    arrays |= {"turned": np.arange(60, dtype=np.float32).reshape(6, 10).T}  # safetensors would ignore the transposition
    write_arrays(path, arrays, metadata=metadata)
    layout = read_layout(path)
    assert layout.metadata == (metadata or {}) and layout.tensors.keys() == arrays.keys()
    for read in (load_file(path), read_arrays(path, layout)):
        for name, array in arrays.items():
            assert read[name].dtype == array.dtype
            np.testing.assert_array_equal(read[name], array)
    for name, entry in layout.tensors.items():
        mapped = np.fromfile(path, DTYPES[entry.dtype], arrays[name].size, offset=layout.num_header_bytes + entry.start)
        np.testing.assert_array_equal(mapped.reshape(entry.shape), arrays[name])


def test_weights_are_mapped_and_what_is_written_to_them_stays_in_memory(tmp_path: Path):
    path = tmp_path / "file"
    weights = {"half": np.ones(3, np.float16), "whole": np.ones((2, 3), np.float32)}
    write_arrays(path, weights)
    before = path.read_bytes()
    for array in map_weights(path, read_layout(path), weights).values():
        array *= 2
    assert path.read_bytes() == before
    write_arrays(path, {"whole": np.array([1, np.nan], np.float32)})
    with pytest.raises(FormatError, match="tensor whole: holds NaN or infinity"):
        map_weights(path, read_layout(path), ["whole"])


@pytest.mark.parametrize(
    ("header", "length"),
    [
        (b'{"a":{"dtype":"F32","shape":[1099511627776],"data_offsets":[0,4398046511104]}}', None),
        (b'{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}', None),  # a type that is not asked for
        (b"{}", None),  # too little for the file
        *((b"{", length) for length in (0, 9, 1 << 20, (1 << 20) + 1, 1 << 63)),  # a header that is not there
    ],
)
def test_a_hostile_header_is_refused_without_an_allocation(tmp_path: Path, header: bytes, length: int | None):
    size = len(header) if length is None else length
    (tmp_path / "file").write_bytes(struct.pack("<Q", size) + header + bytes(8 if length is None else 0))
    with without_allocation(), pytest.raises(FormatError, match=r"file: "):
        read_layout(tmp_path / "file", dtypes=["F32"])


@given(data=st.data())
def test_a_damaged_file_is_read_as_it_is_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject):
    path = tmp_path_factory.mktemp("damaged") / "file"
    save_file({"a": np.ones((2, 3), np.float32), "b": np.zeros(4, np.float16)}, path, metadata={"k": "v"})
    content = bytearray(path.read_bytes())
    cut = data.draw(st.integers(0, len(content)))
    for place in data.draw(st.lists(st.integers(0, 200), max_size=4)):
        content[place % len(content)] = data.draw(st.integers(0, 255))
    path.write_bytes(content[:cut] if data.draw(st.booleans()) else content)
    try:
        layout = read_layout(path)
        arrays = read_arrays(path, layout)
    except FormatError:
        return
    assert sum(array.nbytes for array in arrays.values()) <= path.stat().st_size


def test_metadata_is_in_the_order_that_is_given(tmp_path: Path):
    metadata = {str(number): "x" for number in range(20, 0, -1)}
    write_arrays(tmp_path / "file", {}, metadata=metadata)
    content = (tmp_path / "file").read_bytes()
    assert list(json.loads(content[8:])["__metadata__"]) == list(metadata)


def test_a_type_without_a_place_in_the_file_and_a_full_disk_are_errors_that_leave_nothing(tmp_path: Path):
    with pytest.raises(ValueError, match="tensor name is of type complex64; expected I64"):
        write_arrays(tmp_path / "file", {"name": np.zeros(3, np.complex64)})
    with files_of_at_most(1 << 16), pytest.raises(OSError) as caught:
        write_arrays(tmp_path / "file", {"name": np.zeros(1 << 16)})
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(tmp_path / "file"))
    assert not list(tmp_path.iterdir())
