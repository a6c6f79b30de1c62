"""`convert`: formats into each other, and what the user is told of it."""

from pathlib import Path
from typing import Any

import pytest

from elmokit.formats.convert import convert
from elmokit.formats.recognise import read_stored


def test_a_softmax_is_kept_where_there_is_a_place_for_it(folder: Path, tmp_path: Path):
    assert convert(folder, tmp_path / "parts", to="native", max_file_bytes=24_000, dtype="float16") == []
    assert (tmp_path / "parts" / "softmax-00001-of-00001.safetensors").is_file()
    assert convert(folder, tmp_path / "without", to="native", include_softmax=False) == []
    assert not read_stored(tmp_path / "without", with_softmax=True).has_softmax


@pytest.mark.parametrize(
    ("to", "settings", "message"),
    [
        ("onnx", {}, "cannot convert to 'onnx'; expected native or bilm_tf"),
        ("native", {"dtype": "int8"}, "dtype is 'int8'; expected float32 or float16"),
        ("bilm_tf", {"dtype": "float16"}, "bilm_tf keeps float32 in one file; dtype, softmax_dtype and max_file_bytes"),
        ("bilm_tf", {"max_file_bytes": 1}, "bilm_tf keeps float32 in one file; dtype, softmax_dtype and max_file"),
        ("bilm_tf", {"softmax_dtype": "int8"}, "bilm_tf keeps float32 in one file; dtype, softmax_dtype and max_file"),
        ("native", {"softmax_dtype": "int4"}, "softmax_dtype is 'int4'; expected float32 or float16 or int8"),
        ("native", {"max_file_bytes": 1000, "include_softmax": False}, "are about the softmax, which is to be left"),
        ("native", {"softmax_dtype": "int8", "include_softmax": False}, "are about the softmax, which is to be left"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(pair: Path, to: str, settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        convert(pair, pair / "out", to=to, **settings)
    assert not (pair / "out").exists()
