"""Vectors as text: what other programs read, to the last bit."""

import csv
from pathlib import Path

import numpy as np
import pytest

from elmokit.vectors.files import format_to_write, load_vectors
from elmokit.vectors.reader import FlatVectors
from elmokit.vectors.text_tables import check_word2vec, write_type_table
from toy_vectors import write_vectors

TOKENS = [["a", '"'], [], ["\u2028", "\xa0", "밥"]]
OFFSETS = np.array([0, 2, 2, 5])


def any_floats(*shape: int) -> np.ndarray:
    """Of every size: largest, smallest, denormal, negative zero, and random bits."""
    bits = np.random.default_rng(0).integers(0, 2**32, size=shape, dtype=np.uint32)
    numbers = bits.view(np.float32)
    numbers[~np.isfinite(numbers)] = 1 / 3
    numbers.flat[:5] = [3.4028235e38, 1e-45, 1.17549435e-38, -0.0, 16777217]
    return numbers


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


@pytest.mark.parametrize("num_layers", [None, 2])
def test_a_table_has_a_row_for_each_token_and_layer(num_layers: int | None, tmp_path: Path) -> None:
    vectors = any_floats(5, *([] if num_layers is None else [num_layers]), 3)
    texts = [("", tokens) for tokens in TOKENS]
    path = tmp_path / "v.tsv"
    write_vectors(path, FlatVectors(vectors, OFFSETS, texts=texts))
    names, *rows = rows_of(path)
    keys = ["sentence_id", "token_id", "token", *([] if num_layers is None else ["layer"])]
    assert names == [*keys, "v1", "v2", "v3"]
    expected = [(1, 1, "a"), (1, 2, '"'), (3, 1, "\u2028"), (3, 2, "\xa0"), (3, 3, "밥")]
    layers = [()] if num_layers is None else [("0",), ("1",)]
    assert [tuple(row[: len(keys)]) for row in rows] == [
        (str(sentence), str(place), token, *layer) for sentence, place, token in expected for layer in layers
    ]
    numbers = np.array([row[len(keys) :] for row in rows], np.float32)
    assert numbers.tobytes() == vectors.tobytes()  # negative zeros, too
    with pytest.raises(ValueError, match=r"v\.tsv: is a table for other programs"):
        load_vectors(path)


def test_a_table_of_words_has_their_counts_and_one_without_texts_no_tokens(tmp_path: Path) -> None:
    with (tmp_path / "w.tsv").open("w", encoding="utf-8", newline="") as file:
        write_type_table(file, [('"', 2, np.array([0.5, 0.1], np.float32))], num_words=1, dim=2)
    assert rows_of(tmp_path / "w.tsv") == [["word", "count", "v1", "v2"], ['"', "2", "0.5", "0.100000001"]]
    path = tmp_path / "v.tsv"
    write_vectors(path, FlatVectors(any_floats(5, 1), OFFSETS))
    assert rows_of(path)[0] == ["sentence_id", "token_id", "v1"]
    with pytest.raises(ValueError, match=r"\.vec has one vector for each word: add --types"):
        format_to_write(tmp_path / "v.vec")


@pytest.mark.parametrize("word", ["", "New York", "a\nb", "a\tb"])
def test_a_word_that_word2vec_s_format_cannot_hold_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"is empty or has white space in it, .*write a \.tsv file"):
        check_word2vec(["good", word])
