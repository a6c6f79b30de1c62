"""`inspect` says what a model is and what is wrong with it, reads no weights and needs no torch."""

import shutil
from pathlib import Path

import h5py

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
    assert (inspection.num_parameters, inspection.num_softmax_parameters) == (3622, 20 * 7)
    assert inspection.refusals == inspection.risks == []
    size = "2 layers of 10 cells projected to 6, forward and backward, skip connections"
    assert all(words in str(inspection) for words in (size, "3,622 (3,762 with the softmax)", "none found"))


def test_a_pair(pair: Path):
    inspection = inspect(pair)
    assert inspection.format == "bilm_tf"
    assert {path.name for path in inspection.files} == {"options.json", "weights.hdf5", "vocabulary.txt"}
    assert (inspection.dtypes, inspection.vocabulary_size) == (["float32"], 4)
    assert (inspection.num_parameters, inspection.num_softmax_parameters) == (3622, None)
    assert "3,622 (no softmax)" in str(inspection)
    assert inspect(pair / "options.json", pair / "weights.hdf5").vocabulary_size is None
    published = inspect(FIXTURES / "bilm_tf")
    assert (published.format, published.num_parameters, published.refusals) == ("bilm_tf", 105_120, [])
    assert any("not of the model" in risk and "lm_embeddings_0.hdf5" in risk for risk in published.risks)


def test_only_strangers_in_the_folder_of_the_model_are_named(folder: Path):
    for name in ("metrics.jsonl", "heldout.txt"):  # of the run
        (folder / name).write_text("{}\n")
    assert inspect(folder).risks == []
    (folder / "det.out").write_text("notes")
    assert inspect(folder).risks == inspect(folder / "config.json").risks == ["1 file not of the model: det.out"]
    state = folder / "elmo.th"
    shutil.copy(FIXTURES / "formats" / "allennlp" / "elmo_two_mixes.state_dict.th", state)
    assert not any("not of the model" in risk for risk in inspect(state).risks)


def test_the_parts_of_a_softmax_are_counted(tmp_path: Path):
    write_native(tmp_path / "model", make_stored(num_tokens=2000), max_file_bytes=24_000, dtype="float16")
    inspection = inspect(tmp_path / "model")
    assert (inspection.dtypes, inspection.num_softmax_rows) == (["float16"], 2000)
    assert sum(path.name.startswith("softmax") for path in inspection.files) == 2
    (tmp_path / "model" / "softmax-00001-of-00002.safetensors").unlink()
    assert "softmax-00001-of-00002.safetensors: is missing" in inspect(tmp_path / "model").refusals[0]


def test_a_long_list_of_refusals_is_cut_in_the_text(pair: Path):
    with h5py.File(pair / "weights.hdf5", "r+") as file:
        for number in range(300):
            file[f"link{number}"] = h5py.SoftLink("/x")
    inspection = inspect(pair)
    assert len(inspection.refusals) == 300
    assert "... and 250 more" in str(inspection)
