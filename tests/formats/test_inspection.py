"""`inspect` says what a model is and what is wrong with it, reads no weights and needs no torch."""

from pathlib import Path

from elmokit.formats.native import write_native
from elmokit.formats.recognise import inspect
from toy_stored import make_stored

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_a_native_model(folder: Path):
    inspection = inspect(folder)
    assert inspection.format == "native"
    assert {path.name for path in inspection.files} == {path.name for path in folder.iterdir()}
    assert all(path.stat().st_size == size for path, size in inspection.files.items())
    assert (inspection.dtypes, inspection.vocabulary_size) == (["float32"], 20)
    assert (inspection.num_parameters, inspection.num_softmax_rows) == (3622, 20)
    assert inspection.refusals == inspection.risks == []
    size = "2 layers of 10 cells projected to 6, forward and backward, skip connections"
    assert all(words in str(inspection) for words in (size, "3,622 (3,762 with the softmax)", "none found"))


def test_a_pair(pair: Path):
    inspection = inspect(pair)
    assert inspection.format == "bilm_tf"
    assert {path.name for path in inspection.files} == {"options.json", "weights.hdf5", "vocabulary.txt"}
    assert (inspection.dtypes, inspection.vocabulary_size) == (["float32"], 4)
    assert (inspection.num_parameters, inspection.num_softmax_rows) == (3622, None)
    assert "3,622 (no softmax)" in str(inspection)
    assert inspect(pair / "options.json", pair / "weights.hdf5").vocabulary_size is None
    published = inspect(FIXTURES / "bilm_tf")
    assert (published.format, published.num_parameters, published.refusals) == ("bilm_tf", 105_120, [])


def test_the_parts_of_a_softmax_are_counted(tmp_path: Path):
    write_native(tmp_path / "model", make_stored(num_tokens=2000), max_file_bytes=24_000, dtype="float16")
    inspection = inspect(tmp_path / "model")
    assert (inspection.dtypes, inspection.num_softmax_rows) == (["float16"], 2000)
    assert sum(path.name.startswith("softmax") for path in inspection.files) == 2
    (tmp_path / "model" / "softmax-00001-of-00002.safetensors").unlink()
    assert "softmax-00001-of-00002.safetensors: is missing" in inspect(tmp_path / "model").refusals[0]
