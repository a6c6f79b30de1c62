"""The softmax in int8: what it loses, that it is read like any other, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmokit.files.safetensors import read_arrays, read_layout, write_arrays
from elmokit.formats.convert import convert
from elmokit.formats.inspect import inspect
from elmokit.formats.native import read_native, write_native
from elmokit.formats.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, StoredBiLM
from elmokit.system.messages import FormatError

Make = Callable[..., StoredBiLM]
Equal = Callable[[StoredBiLM, StoredBiLM], None]
ONLY = "softmax-00001-of-00001.safetensors"


@pytest.fixture
def quantised(make_stored: Make, tmp_path: Path) -> Path:
    write_native(tmp_path / "int8", make_stored(num_tokens=20), softmax_dtype="int8")
    return tmp_path / "int8"


def test_each_number_is_off_by_half_a_step_at_most(quantised: Path, make_stored: Make) -> None:
    stored, read = make_stored(num_tokens=20), read_native(quantised, with_softmax=True)
    weight = stored.tensors[SOFTMAX_WEIGHT]
    steps = np.abs(weight).max(axis=1, keepdims=True) / 127
    difference = np.abs(read.tensors[SOFTMAX_WEIGHT] - weight)
    assert (difference <= 0.5001 * steps).all() and difference.any()
    assert np.array_equal(read.tensors[SOFTMAX_BIAS], stored.tensors[SOFTMAX_BIAS])


def test_rows_of_zeros_stay_zeros(make_stored: Make, tmp_path: Path) -> None:
    stored = make_stored(num_tokens=20)
    stored.tensors[SOFTMAX_WEIGHT][3] = 0.0
    write_native(tmp_path / "model", stored, softmax_dtype="int8")
    assert not read_native(tmp_path / "model", with_softmax=True).tensors[SOFTMAX_WEIGHT][3].any()


def test_it_is_split_into_files_and_converted_like_any_other(
    make_stored: Make, tmp_path: Path, assert_equal: Equal
) -> None:
    write_native(tmp_path / "whole", make_stored(num_tokens=3000), softmax_dtype="int8")
    convert(tmp_path / "whole", tmp_path / "parts", to="native", softmax_dtype="int8", max_file_bytes=24_000)
    parts = sorted((tmp_path / "parts").glob("softmax-*"))
    assert len(parts) == 2 and all(part.stat().st_size <= 24_000 for part in parts)
    once, twice = (read_native(tmp_path / name, with_softmax=True) for name in ("whole", "parts"))
    np.testing.assert_allclose(once.tensors[SOFTMAX_WEIGHT], twice.tensors[SOFTMAX_WEIGHT], rtol=1e-6)
    convert(tmp_path / "whole", tmp_path / "float32", to="native")
    assert_equal(once, read_native(tmp_path / "float32", with_softmax=True))


def test_the_types_are_described(quantised: Path) -> None:
    inspection = inspect(quantised)
    assert (inspection.dtypes, inspection.softmax_dtypes, inspection.refusals) == (["float32"], ["int8"], [])
    assert inspection.num_softmax_rows == 20
    assert "  softmax     int8" in str(inspection).splitlines()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors: tensors.pop("softmax.weight_scale"), "holds .*; expected .*weight_scale"),
        (lambda tensors: tensors.update({SOFTMAX_BIAS: np.zeros(20, np.int8)}), "softmax.bias .*in int8; only"),
        (
            lambda tensors: tensors.update({"softmax.weight_scale": np.full(20, np.inf, np.float32)}),
            "weight_scale: holds NaN or infinity",
        ),
        (lambda tensors: tensors.update({SOFTMAX_WEIGHT: np.zeros((20, 6), np.int16)}), "is of type I16"),
    ],
)
def test_damaged_rows_are_refused(quantised: Path, change: Callable[[dict[str, object]], object], message: str) -> None:
    tensors = read_arrays(quantised / ONLY, read_layout(quantised / ONLY))
    change(tensors)
    write_arrays(quantised / ONLY, tensors)
    with pytest.raises(FormatError, match=rf"{ONLY}: .*{message}"):
        read_native(quantised, with_softmax=True)


def test_only_a_softmax_is_written_in_int8(make_stored: Make, quantised: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="native is written in float32 or float16, not in int8"):
        convert(quantised, tmp_path / "out", to="native", dtype="int8")
    with pytest.raises(ValueError, match="the softmax of native is written in float32 or float16 or int8, not in int4"):
        convert(quantised, tmp_path / "out", to="native", softmax_dtype="int4")
    with pytest.raises(ValueError, match="the softmax of bilm_tf is written like the other weights, not in int8"):
        convert(quantised, tmp_path / "out", to="bilm_tf", softmax_dtype="int8")
    with pytest.raises(ValueError, match="dtype is 'int4'; expected float32 or float16 or int8"):
        write_native(tmp_path / "out", make_stored(num_tokens=20), softmax_dtype="int4")
    write_native(tmp_path / "bare", replace(make_stored()), softmax_dtype="int8")
    assert not list((tmp_path / "bare").glob("softmax-*"))
