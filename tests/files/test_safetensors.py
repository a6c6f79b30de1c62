import errno
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from elmokit.files import safetensors
from elmokit.files.safetensors import DTYPES, Layout, TensorEntry, read_arrays, read_layout, write_arrays
from elmokit.system.messages import FormatError


def arrays_of_every_type() -> dict[str, np.ndarray]:
    """Names whose order is not that of the types; no dimension, no numbers, and an odd name are among them."""
    random = np.random.default_rng(0)
    arrays = {
        f"{9 - number}.{name}": (random.normal(size=(3, number + 1)) * 9).astype(dtype)
        for number, (name, dtype) in enumerate(DTYPES.items())
    }
    one_each = {f"{number}": np.ones((), dtype) for number, dtype in enumerate(DTYPES.values())}
    return arrays | one_each | {'밥"\n\x01\x7f\U0001f600': np.zeros((0, 3), np.float32), "": np.ones(5, np.float16)}


@pytest.mark.parametrize("metadata", [None, {"progress": '{"é": "\\u00e9"}\t'}])
def test_the_bytes_are_those_that_the_library_writes(tmp_path: Path, metadata: dict[str, str] | None):
    arrays = arrays_of_every_type()
    save_file(arrays, tmp_path / "theirs", metadata=metadata)
    write_arrays(tmp_path / "ours", arrays, metadata=metadata)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_arrays_that_do_not_lie_in_a_row_are_written_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(safetensors, "_BYTES_PER_WRITE", 40)
    array = np.arange(60, dtype=np.float32).reshape(6, 10)
    write_arrays(tmp_path / "ours", {"turned": array.T, "every second": array[:, ::2]})
    read = load_file(tmp_path / "ours")
    np.testing.assert_array_equal(read["turned"], array.T)
    np.testing.assert_array_equal(read["every second"], array[:, ::2])


def test_what_was_written_is_read_in_memory_of_its_own(tmp_path: Path):
    arrays = arrays_of_every_type()
    write_arrays(tmp_path / "file", arrays, metadata={"step": "3"})
    layout = read_layout(tmp_path / "file")
    read = read_arrays(tmp_path / "file", layout)
    (tmp_path / "file").write_bytes(b"")
    assert layout.metadata == {"step": "3"} and read.keys() == arrays.keys()
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
    with pytest.raises(FormatError, match=r"file: tensor \S+: was cut short while it was read"):
        read_arrays(tmp_path / "file", layout)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="nothing else fails to read at once")
def test_an_error_of_the_disk_is_not_taken_for_the_end_of_the_file():
    layout = Layout({"name": TensorEntry("F32", (2,), 0, 8)}, {}, num_header_bytes=8)
    with pytest.raises(OSError, match="/proc/self/mem") as caught:  # no memory is at address 8
        read_arrays(Path("/proc/self/mem"), layout)
    assert caught.value.errno == errno.EIO


def test_types_without_a_place_in_the_file_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="tensor name is of type complex64; expected I64"):
        write_arrays(tmp_path / "file", {"name": np.zeros(3, np.complex64)})
    assert not list(tmp_path.iterdir())
