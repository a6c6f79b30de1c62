"""Damaged texts, vocabularies, word vectors, data sets and runs are read, or refused with an error that names them."""

import gzip
import lzma
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from damage import check_damaged
from elmokit.corpus.prepare import Preparation, prepare
from elmokit.corpus.vocabulary_counts import write_vocabulary
from elmokit.pretraining.train import Run, resume_pretraining
from elmokit.report.report import write_report
from elmokit.scoring.breakdown import measure_files
from elmokit.tasks.config import Splits
from elmokit.tasks.data import read_data
from elmokit.tasks.loop import TaskTraining
from elmokit.tasks.predict import load_task
from elmokit.tasks.task import find_task
from elmokit.tasks.train import resume_task, train
from elmokit.text.vocabulary import Vocabulary
from elmokit.text.word_vectors import read_word_vectors, word_vector_dim
from task_examples import DATA_FILES
from toy_bilm import write_toy
from toy_run import pretrain_toy

TEXT = b"The cat sat on a mat . It slept there .\n\nAnother cat , of Seoul , came and sat on the mat too .\n" * 5
WORDS = ("the", "cat", "sat", "on", "a", "mat", ".", "Seoul")
VOCABULARY = "\n".join(("<S>", "</S>", "<UNK>", *WORDS)).encode()
LINES = "".join(f"{word} 0.25 -1.5 3.0 0.001\n" for word in WORDS).encode()
HEADER = f"{len(WORDS)} 4\n".encode()
BINARY = b"".join(word.encode() + b" " + struct.pack("<4f", 0.25, -1.5, 3.0, 1e-3) + b"\n" for word in WORDS)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def bilm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_toy(tmp_path_factory.mktemp("bilm") / "bilm")


def read_vectors(path: Path, *_: Path) -> None:
    word_vector_dim(path)
    read_word_vectors(path, WORDS, first=3)


def read_task_data(path: Path, *_: Path, task: str) -> None:
    found = find_task(task)
    read_data(found, Splits((path,), (path,)), found.recipe("cpu"))


Use = Callable[[Path, Path, Path], object]
"""Reads a file: (file, new folder for outputs, biLM)."""
FILES: dict[str, tuple[bytes, Use]] = {
    "count.txt": (TEXT, lambda path, output, _: write_vocabulary([path], output / "words.txt")),
    "prepare.txt.gz": (
        gzip.compress(TEXT),
        lambda path, output, _: prepare([path], output / "corpus", Preparation(held_out=0, min_tokens=1)),
    ),
    "perplexity.txt.xz": (lzma.compress(TEXT), lambda path, _, bilm: measure_files(str(bilm), [path])),
    "words.txt": (VOCABULARY, lambda path, *_: Vocabulary.read(path)),
    "words.txt.gz": (gzip.compress(VOCABULARY), lambda path, *_: Vocabulary.read(path)),
    "vectors.txt": (LINES, read_vectors),
    "headed.vec": (HEADER + LINES, read_vectors),
    "vectors.bin": (HEADER + BINARY, read_vectors),
    "vectors.bin.gz": (gzip.compress(HEADER + BINARY), read_vectors),
    **{f"{task}-{kind}": (text.encode(), partial(read_task_data, task=task)) for task, kind, text in DATA_FILES},
}


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_read_or_refused(
    name: str, bilm: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    content, use = FILES[name]
    (folder := tmp_path / "whole").mkdir()
    (folder / name).write_bytes(content)
    check_damaged(folder, lambda place: use(place / name, tmp_path_factory.mktemp("output"), bilm), devices=False)


def test_a_damaged_run_of_pretraining_is_resumed_and_reported_or_refused(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    """Runs stop before the first step, because a damaged config can make a step arbitrarily large."""
    small = ("num_steps=2", "checkpoint_every=1", "evaluate_every=1", "log_every=1", "batch_size=2", "lstm_dim=16")
    shape = ("filters=[[1,4],[3,8]]", "character_dim=4", "projection_dim=6", "bptt_steps=3", "optimizer=adam")
    run = pretrain_toy(tmp_path / "run", *small, *shape, held_out=[tmp_path / "shard.txt"], device="cpu")
    monkeypatch.setattr(Run, "train", lambda self, on_step=None: None)
    check_damaged(run, lambda place: resume_pretraining(place, device="cpu"))
    check_damaged(run, lambda place: write_report([place], tmp_path_factory.mktemp("report")))


@pytest.mark.parametrize("position", ["none", "both"])
def test_a_damaged_run_of_a_task_predicts_and_is_resumed_and_reported_or_refused(
    position: str,
    bilm: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
):
    (data := tmp_path / "data.txt").write_text("Jane B-PER\nlives O\nin O\nSeoul B-LOC\n\nThe O\nbank O\n")
    small = ["word_dim=5", "character_dim=3", "first_dim=4", "second_dim=3", "max_epochs=2", "average_decay=0.9"]
    changes = [*small, f"elmo={position}", *([f"elmo.model={bilm}"] if position == "both" else [])]
    run = train("named-entities", Splits((data,), (data,)), run_dir=tmp_path / "run", settings=changes, device="cpu")
    monkeypatch.setattr(TaskTraining, "run", lambda self: self.progress)
    check_damaged(run, lambda place: load_task(place, device="cpu").predict("Jane lives in Seoul"))
    check_damaged(run, lambda place: resume_task(place, device="cpu"))
    check_damaged(run, lambda place: write_report([place], tmp_path_factory.mktemp("report")))
