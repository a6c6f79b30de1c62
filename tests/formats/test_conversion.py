"""`convert`: formats into each other, and what the user is told of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attacks.limited_disk import files_of_at_most
from elmokit.formats.bilm_tf import write_bilm_tf
from elmokit.formats.convert import convert
from elmokit.formats.native import write_native
from elmokit.formats.recognise import read_stored
from elmokit.formats.weights import StoredBiLM
from toy_stored import make_stored


def test_a_softmax_is_kept_where_there_is_a_place_for_it(folder: Path, tmp_path: Path):
    assert convert(folder, tmp_path / "parts", to="native", max_file_bytes=24_000, dtype="float16") == []
    assert (tmp_path / "parts" / "softmax-00001-of-00001.safetensors").is_file()
    assert convert(folder, tmp_path / "without", to="native", include_softmax=False) == []
    assert not read_stored(tmp_path / "without", with_softmax=None).has_softmax


def test_models_that_the_old_tools_refuse_are_said(tmp_path: Path):
    stored = make_stored()
    config = replace(stored.config, bidirectional=False, use_skip_connections=False, projection_dim=8)
    write_bilm_tf(tmp_path / "forward", make_stored(config))
    notes = "\n".join(convert(tmp_path / "forward", tmp_path / "again", to="bilm_tf"))
    for words in ("only bidirectional models", "AllenNLP refuses models without skip connections", "8 filters"):
        assert words in notes
    write_bilm_tf(tmp_path / "usual", stored)
    assert convert(tmp_path / "usual", tmp_path / "usual again", to="bilm_tf") == []


@pytest.mark.parametrize("most_bytes", [100, 3000, 9000])
@pytest.mark.parametrize("write", [write_bilm_tf, write_native])
def test_a_full_disk_is_an_error_and_leaves_nothing_behind(
    tmp_path: Path, write: Callable[[Path, StoredBiLM], object], most_bytes: int
):
    """HDF5 itself crashes the process when it cannot write."""
    stored = make_stored()
    with files_of_at_most(most_bytes), pytest.raises(OSError, match="File too large") as error:
        write(tmp_path / "model", stored)
    assert list(tmp_path.iterdir()) == []
    assert error.value.filename == str(tmp_path / "model")


@pytest.mark.parametrize(
    ("to", "settings", "message"),
    [
        ("onnx", {}, "cannot convert to 'onnx'; expected native or bilm_tf"),
        ("allennlp", {}, "cannot convert to 'allennlp'; expected native or bilm_tf"),  # which is only read
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
