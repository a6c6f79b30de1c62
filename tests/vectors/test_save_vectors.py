from pathlib import Path

import numpy as np
import pytest

from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import load_vectors
from elmokit.vectors.save_vectors import save_vectors

SENTENCES = [["the", "cat"], [], ["밥"]]
ARRAYS = [np.arange(12, dtype=np.float32).reshape(2, 2, 3), np.zeros((2, 0, 3)), np.full((2, 1, 3), 0.1)]


def test_what_was_saved_is_loaded_with_its_sentences_from_files_that_numpy_would_save(tmp_path: Path):
    save_vectors(tmp_path / "v.npy", SENTENCES, ARRAYS)
    vectors = load_vectors(tmp_path / "v.npy")
    assert vectors.sentences() == SENTENCES
    for ours, theirs in zip(vectors, ARRAYS, strict=True):
        assert ours.dtype == np.float16
        np.testing.assert_array_equal(ours, theirs.astype(np.float16))
    rows = np.concatenate([array.swapaxes(0, 1) for array in ARRAYS]).astype(np.float16)
    for name, array in (("v.npy", np.ascontiguousarray(rows)), ("v.offsets.npy", np.array([0, 2, 2, 3], np.int64))):
        np.save(tmp_path / "array.npy", array)
        assert (tmp_path / name).read_bytes() == (tmp_path / "array.npy").read_bytes()
    assert (tmp_path / "v.npy.tokens.txt").read_bytes() == "the cat\n\n밥\n".encode()


def test_a_text_of_the_same_name_stays_and_what_exists_is_replaced_only_if_asked_for(tmp_path: Path):
    (tmp_path / "corpus.txt").write_text("my corpus\n")
    save_vectors(tmp_path / "corpus.npy", [["a"]], [np.zeros((1, 3))])
    assert (tmp_path / "corpus.txt").read_text() == "my corpus\n"
    arrays = iter(ARRAYS)
    with pytest.raises(FileExistsError, match=r"corpus\.npy exists; .* overwrite=True, to replace it"):
        save_vectors(tmp_path / "corpus.npy", SENTENCES, arrays)
    assert len(list(arrays)) == len(ARRAYS)  # nothing was computed
    save_vectors(tmp_path / "corpus.npy", SENTENCES, ARRAYS, overwrite=True)
    assert load_vectors(tmp_path / "corpus.npy").sentences() == SENTENCES


def test_vectors_with_their_sentences_in_a_text_of_their_name_are_still_read(tmp_path: Path):
    save_vectors(tmp_path / "v.npy", SENTENCES, ARRAYS)
    (tmp_path / "v.npy.tokens.txt").rename(tmp_path / "v.txt")  # as save_vectors wrote them until November 2026
    assert load_vectors(tmp_path / "v.npy").sentences() == SENTENCES
    assert FileVectorSource(tmp_path / "v.npy")(SENTENCES[:1]).shape == (2, 1, 2, 3)


TWO, ROW = [["a"], ["b"]], np.zeros((1, 4))


@pytest.mark.parametrize(
    ("name", "sentences", "arrays", "message"),
    [
        ("v.h5", [["a"]], [ROW], r"v.h5 does not end in .npy"),
        *(
            ("v.npy", [[token]], [ROW], f"a token is empty, or has white space, .* in it: .*{shown}")
            for token, shown in (("a b", "a b"), ("a\0", "x00"), ("\ufeffa", ""), ("a\ud83d", ""), ("a\r", r"\\r"))
        ),
        ("v.npy", [["a", "b"]], [ROW], r"sentence 0 has 2 tokens, but vectors of shape \(1, 4\)"),
        ("v.npy", [], [], r"no sentences"),
        ("v.npy", ["ab"], [np.zeros((2, 4))], r"sentence 0 is the string 'ab'; expected a list of tokens"),
        (
            "v.npy",
            TWO,
            [ROW, np.zeros((1, 5))],
            r"sentence 1 .*\(1, 5\); expected .* as sentence 0, of shape \(1, 4\)",
        ),
        *(
            ("v.npy", TWO, [ROW, ROW + value], "sentence 1: .* not finite, or beyond the range of float16")
            for value in (1e6, -1e6, np.nan)
        ),
        ("v.npy", TWO, [ROW], "2 sentences, but 1 arrays; expected one for each"),
        ("v.npy", TWO, [ROW] * 3, "2 sentences, but more arrays; expected one for each"),
    ],
)
def test_what_cannot_be_saved_leaves_nothing(
    tmp_path: Path, name: str, sentences: list[str | list[str]], arrays: list[np.ndarray], message: str
):
    with pytest.raises(ValueError, match=message):
        save_vectors(tmp_path / name, sentences, arrays)
    assert list(tmp_path.iterdir()) == []
