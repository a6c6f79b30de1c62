"""Word vectors trained by gensim on the shards of a biLM."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from elmokit.corpus.stream import SentenceStream
from elmokit.text.word_vectors import read_word_vectors
from paper.__main__ import main
from paper.comparators.word_vector_training import train_fasttext, train_word2vec

pytest.importorskip("gensim")
SETTINGS = ["dim=5", "min_count=2", "epochs=2", "subsample=0"]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "shard.txt"
    path.write_text("the cat sat on the mat\n\nthe dog sat on the rug\n" * 5 + "once\n")
    return path


@pytest.mark.parametrize("ending", [".vec", ".bin"])
def test_word2vec_writes_a_file_that_is_read_back(shard: Path, tmp_path: Path, ending: str):
    output = tmp_path / f"vectors{ending}"
    assert train_word2vec([shard], output, SETTINGS) == {"words": 7}
    read = read_word_vectors(output, {"cat", "once"})
    assert read.words == ["cat"] and read.matrix.shape == (1, 5)
    for name, seed in (("again", 1), ("other", 2)):  # the same command gives the same vectors
        train_word2vec([shard], tmp_path / f"{name}{ending}", [*SETTINGS, f"seed={seed}"])
        assert ((tmp_path / f"{name}{ending}").read_bytes() == output.read_bytes()) == (seed == 1)


def test_a_line_is_read_to_its_end_however_long_it_is(tmp_path: Path):
    shard = tmp_path / "shard.txt"
    shard.write_text("the cat sat " * 4000 + "a dog ran " * 2000)
    train_word2vec([shard], tmp_path / "trained.vec", [*SETTINGS, "window=1"])
    train_word2vec([shard], tmp_path / "start.vec", [*SETTINGS, "window=1", "learning_rate=1e-9"])
    trained, start = (read_word_vectors(tmp_path / name, {"dog"}).matrix for name in ("trained.vec", "start.vec"))
    assert np.abs(trained - start).max() > 0.1


def test_what_cannot_be_trained_is_refused(shard: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ValueError, match=r"vectors.vec does not end in .bin; only"):
        train_fasttext([shard], tmp_path / "vectors.vec")
    with pytest.raises(ValueError, match="a training of word vectors by gensim cannot be resumed"):
        train_word2vec([shard], tmp_path / "vectors.bin", resume=True)
    command = ["train-comparator", "word2vec", str(shard), "-o", str(tmp_path / "v.vec"), "--set"]
    assert main([*command, "min_count=1"]) == 0
    assert '"words": 8' in capsys.readouterr().out
    for setting in ("dim=0", "max_n=2", "max_n=101", "subsample=-1", "subsample=1", "seed=-1"):
        assert main([*command, setting, "min_count=1"]) == 2
        assert f": {setting.partition('=')[0]} is" in capsys.readouterr().err
    shard.write_text("too few words\n")
    for train in (train_word2vec, train_fasttext):
        with pytest.raises(ValueError, match=r"no word occurs at least 5 times \(min_count\)"):
            train([shard], tmp_path / "vectors.bin", ["bucket=10"])
    assert not (tmp_path / "vectors.bin").exists()


@pytest.mark.parametrize("train", [train_word2vec, train_fasttext])
def test_a_shard_that_can_no_longer_be_read_ends_the_training(
    train: Callable[[list[Path], Path, list[str]], object], shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    paths = (shard, shard, tmp_path / "gone")
    streams = (SentenceStream([path], shuffle=False, num_epochs=1) for path in paths)  # one for each pass
    monkeypatch.setattr("paper.comparators.word_vector_training.SentenceStream", lambda *_, **__: next(streams))
    with pytest.raises(FileNotFoundError, match="gone: there is no such file"):
        train([shard], tmp_path / "vectors.bin", [*SETTINGS, "bucket=10"])
    assert not (tmp_path / "vectors.bin").exists()
