"""The stream of sentences: complete, shuffled by the seed, and resumable from any position."""

import gzip
import itertools
import lzma
from pathlib import Path

import pytest

from elmokit.corpus import stream as corpus
from elmokit.corpus.stream import SentenceStream


@pytest.fixture
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three shards, plain, gzip and xz, of 7 sentences each, read in blocks of 3 lines."""
    monkeypatch.setattr(corpus, "BLOCK_LINES", 3)
    paths = [tmp_path / "a.txt", tmp_path / "b.gz", tmp_path / "c.xz"]
    for path, compressed in zip(paths, (bytes, gzip.compress, lzma.compress), strict=True):
        path.write_bytes(compressed("".join(f"{path.stem} {number}\n" for number in range(7)).encode()))
    return paths


def take(stream: SentenceStream, count: int) -> list[str]:
    return [" ".join(sentence) for sentence in itertools.islice(stream, count)]


def test_an_epoch_visits_every_sentence_once_and_shuffles_shards_and_blocks_differently(shards: list[Path]) -> None:
    stream = SentenceStream(shards, seed=1)
    everything = {f"{name} {number}" for name in "abc" for number in range(7)}
    first, second = take(stream, 21), take(stream, 21)
    assert set(first) == set(second) == everything
    assert first != second
    assert first == take(SentenceStream(shards, seed=1), 21) != take(SentenceStream(shards, seed=2), 21)
    assert first != take(SentenceStream(shards, seed=1, purpose="backward"), 21)
    lines = take(SentenceStream(shards, seed=1), 21)
    orders = [[int(line[-1]) for line in lines if line[0] == name] for name in "abc"]
    assert len(set(map(tuple, orders))) > 1
    assert any(order[:3] != [number - 3 for number in order[3:6]] for order in orders)


def test_without_shuffling_files_are_read_as_they_are_without_blank_lines(shards: list[Path], tmp_path: Path) -> None:
    stream = SentenceStream(shards, shuffle=False, num_epochs=1)
    assert take(stream, 99) == [f"{name} {number}" for name in "abc" for number in range(7)]
    path = tmp_path / "x.txt"
    path.write_text("one\u3000token two\n\n   \n\t\nlast\u2028one\n", encoding="utf-8")
    assert list(SentenceStream([path], shuffle=False, num_epochs=1)) == [["one\u3000token", "two"], ["last\u2028one"]]


@pytest.mark.parametrize("count", [0, 1, 3, 5, 7, 20, 21, 22, 40])
def test_a_stream_goes_on_from_its_position(shards: list[Path], count: int) -> None:
    whole = SentenceStream(shards, seed=5)
    take(whole, count)
    resumed = SentenceStream(shards, seed=5, position=whole.position)
    assert take(resumed, 30) == take(whole, 30)


def test_the_manifest_of_a_corpus_is_not_a_shard(shards: list[Path]) -> None:
    with pytest.raises(ValueError, match=r"manifest\.json describes a corpus; expected its text: .*train-"):
        SentenceStream([*shards, shards[0].parent / "manifest.json"])
