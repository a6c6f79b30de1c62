import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from syrupy.assertion import SnapshotAssertion

from elmokit.tasks.config import ElmoInput, InputConfig, with_settings
from elmokit.tasks.data import task_sentences
from elmokit.tasks.predict import load_task
from elmokit.tasks.run import read_record
from elmokit.tasks.task import find_task
from elmokit.tasks.train import resume_task, train
from elmokit.vectors.file_vector_source import FileVectorSource, WordVectorSource
from elmokit.vectors.flat import tokens_path
from elmokit.vectors.save_vectors import save_vectors
from refusals import refusals
from task_examples import new_inputs

SENTENCES = [["the", "cat", "sat"], ["밥"], ["the", "dog"]]


def random_layers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float16)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_vectors(tmp_path / "v.npy", SENTENCES, [random_layers(3, len(one), 4) for one in SENTENCES])
    return tmp_path / "v.npy"


def test_a_batch_has_what_was_saved_zeros_at_padding_and_one_layer_needs_no_axis(saved: Path, tmp_path: Path):
    source = FileVectorSource(saved)
    assert (source.num_layers, source.dim) == (3, 4)
    batch = source([SENTENCES[2], [], SENTENCES[0]])
    assert batch.shape == (3, 3, 3, 4) and batch.dtype == torch.float32
    np.testing.assert_array_equal(batch[:, 0, :2], random_layers(3, 2, 4))
    np.testing.assert_array_equal(batch[:, 2], random_layers(3, 3, 4))
    assert not batch[:, 1].any() and not batch[:, 0, 2:].any()
    save_vectors(tmp_path / "v.npy", SENTENCES, [random_layers(len(one), 4) for one in SENTENCES], overwrite=True)
    source = FileVectorSource(tmp_path / "v.npy")
    assert (source.num_layers, source.dim) == (1, 4)
    np.testing.assert_array_equal(source(SENTENCES[:1])[0, 0], random_layers(3, 4))


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 0\nbank 0 2\nBank 3 3\n")
    return path


def test_a_word_has_its_vector_or_that_of_its_lower_case_form_or_zeros_and_is_read_once(glove: Path):
    layers = WordVectorSource(glove)
    assert (layers.num_layers, layers.dim) == (1, 2)
    batch = layers([["The", "Bank", "of"], ["bank"], []])
    expected = torch.tensor([[[1.0, 0], [3, 3], [0, 0]], [[0, 2], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]])
    assert torch.equal(batch[0], expected)
    glove.unlink()
    assert torch.equal(layers([["of", "The"]])[0, 0], torch.tensor([[0.0, 0], [1, 0]]))


def test_the_fingerprint_follows_what_the_files_hold(saved: Path, glove: Path, tmp_path: Path):
    for source, path, text in ((FileVectorSource, saved, tokens_path(saved)), (WordVectorSource, glove, glove)):
        before = source(path).fingerprint()
        copied = shutil.copytree(path.parent, tmp_path / source.__name__) / path.name
        assert source(copied).fingerprint() == before
        text.write_text(text.read_text().replace("the", "The"))
        assert source(path).fingerprint() != before


def test_a_task_is_trained_resumed_and_used_with_another_systems_vectors(tmp_path: Path):
    task = find_task("sentiment")
    data = tmp_path / "data"
    data.mkdir()
    for name in ("train", "dev", "test"):
        (data / f"{name}.tsv").write_text("text\tlabel\ngood cat\t1\nbad dog\t0\nbad cat\t0\n")
    settings = ["word_dim=0", "elmo=input", "max_epochs=1", f"elmo.model={tmp_path / 'bert.npy'}", "classifier=bilstm"]
    config = with_settings(task.recipes["cpu"](), settings)
    sentences = task_sentences(task, data, config)
    assert sorted(sentences) == [("bad", "cat"), ("bad", "dog"), ("good", "cat")]
    save_vectors(tmp_path / "bert.npy", sentences, [random_layers(2, 2, 5) + i for i in range(3)])
    run_dir = train(task, data, run_dir=tmp_path / "run", config=config, device="cpu")
    resume_task(run_dir, ["max_epochs=2"], device="cpu")
    assert read_record(run_dir).other_vectors
    trained = load_task(run_dir, device="cpu")
    assert trained.evaluate(data / "test.tsv").keys() >= {"accuracy"}
    with pytest.raises(
        ValueError, match="bert.npy.tokens.txt lacks 1 sentences that are needed; the first is 'unheard of'"
    ):
        trained.predict("unheard of")


def test_files_that_do_not_fit_together_are_refused(saved: Path, snapshot: SnapshotAssertion):
    def read_with(content: str | list[float]) -> None:
        if isinstance(content, str):
            tokens_path(saved).write_text(content)
        else:
            np.save(saved.with_suffix(".offsets.npy"), content)
        FileVectorSource(saved)

    given = ("the cat sat\n밥 밥\nthe dog\n", "the cat sat\n", [0, 3, 4, 7], [0.0, 3.0, 4.0, 6.0])
    assert refusals(read_with, given, folder=saved.parent) == snapshot


def test_what_is_not_finite_cannot_be_trained_or_is_not_there_is_named(saved: Path):
    vectors = np.load(saved)
    vectors[3] = np.nan
    np.save(saved, vectors)
    source = FileVectorSource(saved)
    source(SENTENCES[:1])
    with pytest.raises(ValueError, match="vectors of '밥' are not finite"):
        source(SENTENCES)
    config = InputConfig(elmo=ElmoInput(model=str(saved), train=True))
    with pytest.raises(ValueError, match="holds fixed vectors; give a model"):
        new_inputs(config, SENTENCES)
    tokens_path(saved).unlink()
    with pytest.raises(FileNotFoundError, match=r"neither .*v\.npy\.tokens\.txt nor .*v\.txt exists; one of them must"):
        FileVectorSource(saved)
    saved.with_suffix(".offsets.npy").unlink()
    with pytest.raises(FileNotFoundError, match="v.offsets.npy: there is no such file"):
        FileVectorSource(saved)
