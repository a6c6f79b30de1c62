"""The stream of sentences is complete, shuffled and resumable; batches make every prediction once."""

import gzip
import itertools
import lzma
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.corpus import stream as corpus
from elmokit.corpus.batches import Batch, Packer, packed_batches
from elmokit.corpus.stream import SentenceStream
from elmokit.text.characters import character_ids
from elmokit.text.spelling import ByteSpelling
from elmokit.text.vocabulary import Vocabulary


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


VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c"])


def packer(path: Path, *, backward: bool, batch_size: int = 1, bptt_steps: int = 3) -> Packer:
    sentences = SentenceStream([path], shuffle=False, num_epochs=1)
    return Packer(sentences, VOCABULARY, rows=[[]] * batch_size, bptt_steps=bptt_steps, backward=backward)


def spelled(batch: Batch) -> list[tuple[list[str], list[str]]]:
    """Each row's words and targets, as text."""
    size = batch.character_ids.shape[1]
    tokens = (*VOCABULARY.tokens, "z")
    known = {tuple(character_ids([token], max_characters_per_token=size)[0]): token for token in tokens}
    words = [known[tuple(row)] for row in batch.character_ids]
    part = batch.directions[0]
    return [
        ([words[index] for index in part.tokens[:, row]], [VOCABULARY.tokens[index] for index in part.targets[:, row]])
        for row in range(part.tokens.shape[1])
    ]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("a b\nz\nc b a c\n")
    return path


def test_the_forward_row_by_hand(text: Path) -> None:
    first, second, third = packed_batches([packer(text, backward=False)], spelling=ByteSpelling(50))
    assert spelled(first) == [(["<S>", "a", "b"], ["a", "b", "</S>"])]
    assert spelled(second) == [(["<S>", "z", "<S>"], ["<UNK>", "</S>", "c"])]
    assert spelled(third) == [(["c", "b", "a"], ["b", "a", "c"])]  # c -> </S> is left over: an incomplete batch
    assert first.directions[0].starts[:, 0].tolist() == [True, False, False]
    assert second.directions[0].starts[:, 0].tolist() == [True, False, True]
    assert not third.directions[0].starts.any()


def test_a_word_is_encoded_once_however_often_it_is_read(text: Path) -> None:
    both = [packer(text, backward=False, bptt_steps=7), packer(text, backward=True, bptt_steps=7)]
    batch = next(packed_batches(both, spelling=ByteSpelling(20)))
    assert batch.character_ids.shape == (6, 20)  # <S> a b z c </S>
    assert len(np.unique(batch.character_ids, axis=0)) == 6


@settings(max_examples=50, deadline=None)
@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=20),
    batch_size=st.integers(1, 4),
    bptt_steps=st.integers(1, 6),
    backward=st.booleans(),
)
def test_every_prediction_is_made_once(lengths: list[int], batch_size: int, bptt_steps: int, backward: bool):
    with NamedTemporaryFile("w") as text:
        text.write("".join(" ".join("abc"[n % 3] for n in range(length)) + "\n" for length in lengths))
        text.flush()
        made = packer(Path(text.name), backward=backward, batch_size=batch_size, bptt_steps=bptt_steps)
        batches = [spelled(batch) for batch in packed_batches([made], spelling=ByteSpelling(10))]
    begin, end = ("</S>", "<S>") if backward else ("<S>", "</S>")
    for row in range(batch_size):
        words, targets = ([side for batch in batches for side in batch[row][part]] for part in (0, 1))
        assert end not in words
        assert words[1:] == [begin if target == end else target for target in targets[:-1]]
    assert len(batches) * batch_size * bptt_steps <= sum(length + 1 for length in lengths)
