"""`inspect` says what a model is and what is wrong with it, reads no weights and needs no torch."""

from pathlib import Path

import pytest

from elmokit.formats.native import write_native
from elmokit.formats.recognise import inspect
from toy_stored import make_stored

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize(
    ("model", "format", "num_rows", "said"),
    [("model", "native", 20, "3,622 (3,762 with the softmax)"), ("pair", "bilm_tf", None, "3,622 (no softmax)")],
)
def test_a_model_of_either_format(written: Path, model: str, format: str, num_rows: int | None, said: str):
    inspection = inspect(written / model)
    assert (inspection.format, inspection.num_softmax_rows, inspection.num_parameters) == (format, num_rows, 3622)
    assert inspection.files == {path: path.stat().st_size for path in (written / model).iterdir()}
    assert (inspection.dtypes, inspection.vocabulary_size) == (["float32"], num_rows or 4)
    assert inspection.refusals == inspection.risks == []
    size = "2 layers of 10 cells projected to 6, forward and backward, skip connections"
    assert all(words in str(inspection) for words in (size, said, "none found"))


def test_the_words_are_not_those_of_files_that_are_named_and_published_files_have_no_refusals(pair: Path):
    assert inspect(pair / "options.json", pair / "weights.hdf5").vocabulary_size is None
    published = inspect(FIXTURES / "bilm_tf")
    assert (published.format, published.num_parameters, published.refusals) == ("bilm_tf", 105_120, [])


def test_the_parts_of_a_softmax_are_counted(tmp_path: Path):
    write_native(tmp_path / "model", make_stored(num_tokens=2000), max_file_bytes=24_000, dtype="float16")
    inspection = inspect(tmp_path / "model")
    assert (inspection.dtypes, inspection.num_softmax_rows) == (["float16"], 2000)
    assert sum(path.name.startswith("softmax") for path in inspection.files) == 2
