import gzip
import lzma
import struct
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.text.word_vectors import read_word_vectors, word_vector_dim
from refusals import refused_files

GLOVE = "the 0.5 -1 2\ncat 1 2 3e-1\n밥 0 0 1\n"


def binary(words: dict[str, list[float]], *, end: bytes = b"", promised: int | None = None) -> bytes:
    dim = len(next(iter(words.values())))
    parts = [f"{len(words) if promised is None else promised} {dim}\n".encode()]
    parts += [word.encode() + b" " + struct.pack(f"<{dim}f", *vector) + end for word, vector in words.items()]
    return b"".join(parts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors"


def test_the_vectors_of_the_wanted_and_the_first_words_come_in_the_order_of_the_file(path: Path):
    path.write_text(GLOVE)
    read = read_word_vectors(path, {"cat", "밥", "unseen"})
    assert read.words == ["cat", "밥"]
    np.testing.assert_array_equal(read.matrix, np.array([[1, 2, 0.3], [0, 0, 1]], np.float32))
    assert read.matrix.dtype == np.float32
    assert word_vector_dim(path) == 3
    assert read_word_vectors(path, {"밥"}, first=1).words == ["the", "밥"]
    assert read_word_vectors(path, (), first=99).words == ["the", "cat", "밥"]
    assert read_word_vectors(path, ()).matrix.shape[0] == 0


@pytest.mark.parametrize("header", ["2 3\n", "\ufeff2 3\n", " 2  3 \r\n", "\ufeff", ""])
@pytest.mark.parametrize("first", ["3", "\u00a0", "\u3000", "\u200b", "a\u00adb", "\u0085", "a\u2028b"])
def test_neither_a_headers_spelling_nor_a_first_word_that_cannot_be_printed_hides_vectors(
    path: Path, header: str, first: str
):
    path.write_text(f"{header}{first} 1 2 3\ncat 4 5 6\n", encoding="utf-8", newline="")
    read = read_word_vectors(path, {first, "cat"})
    assert word_vector_dim(path) == 3
    assert read.words == [first, "cat"]
    np.testing.assert_array_equal(read.matrix, [[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_word2vecs_binary_format_with_and_without_line_ends_is_read_in_parts(path: Path, end: bytes):
    words = {f"밥{number}": [float(number)] * 100 for number in range(3000)}
    path.write_bytes(lzma.compress(binary(words, end=end)))
    read = read_word_vectors(path, {"밥0", "밥2620", "밥2999"})
    assert read.words == ["밥0", "밥2620", "밥2999"] and word_vector_dim(path) == 100
    np.testing.assert_array_equal(read.matrix[:, [0, 99]], [[0, 0], [2620, 2620], [2999, 2999]])


def test_of_a_word_that_comes_twice_the_first_counts_and_one_with_spaces_is_another(path: Path):
    path.write_text("a 1\nb 2\na 3\n")
    assert read_word_vectors(path, {"a", "b"}).matrix.tolist() == [[1], [2]]
    for start in ("the 1 2\n", "3 2\n", "3 2\nthe 1 2\nMay 5 3 4\n"):
        path.write_text(start + ". . . 3 4\nNew York 3 4\n. 5 6\n")
        assert read_word_vectors(path, {"."}).matrix.tolist() == [[5, 6]]


def test_text_and_binary_hold_the_same_numbers(path: Path):
    vector = [1.2963551329124352e16, 0.1, -1e-45, 3.4e38]  # the bytes of the first are the characters ' 98Z'
    path.write_bytes(binary({"word": vector}))
    from_binary = read_word_vectors(path, {"word"}).matrix
    path.write_text(f"1 {len(vector)}\nword {' '.join(map(repr, vector))} \n")  # fastText ends lines with a space
    np.testing.assert_array_equal(read_word_vectors(path, {"word"}).matrix, from_binary)


def test_what_is_no_file_of_word_vectors_is_refused(path: Path, snapshot: SnapshotAssertion):
    texts = (
        *("the 1 2\ncat 1\n", "# 300\nthe 1 2\n", "2 3 1\nthe 1 2 3\n", "1 2\nthe 1 2 3\n", "the  1  2\n"),
        *("# glove\nthe 1 2\n", "", "no vectors in this sentence\n", "cat\t1\t2\n", "3 2\nthe 1 x\ncat 1 2\n"),
        *("the 1 2\ncat 1 x\n", "the 1 2\ncat 1 nan\n", "the 1 2\ncat 1 1e39\n", "a 1 2\nthe 1_0 2\n"),
        *("3 2\nthe 1 2\ncat 1 2\n", "2 999999999999\n"),
    )
    whole, infinite = binary({"cat": [1.0, 2.0]}), binary({"cat": [1.0, float("inf")]})
    others = (binary({"cat": [1.0, 2.0]}, promised=2), whole[:-1], infinite, b"1 2\n" + b"\xff" * 20_000)
    wanted = {"cat", "no", "the"}
    assert refused_files(lambda path: read_word_vectors(path, wanted), path, (*texts, *others)) == snapshot
    path.write_bytes(gzip.compress(GLOVE.encode() * 99, mtime=0)[:-9])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read_word_vectors(path, wanted)
