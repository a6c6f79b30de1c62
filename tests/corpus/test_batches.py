"""Packing: every prediction once, nothing across sentences, rows that go on where they stopped."""

from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmokit.corpus.batches import Batch, Packer, packed_batches
from elmokit.corpus.stream import SentenceStream
from elmokit.text.characters import character_ids
from elmokit.text.indexer import ByteSpelling
from elmokit.text.vocabulary import Vocabulary

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
