from pathlib import Path

import numpy as np
import pytest

from attacks.limited_disk import files_of_at_most
from elmokit.vectors.files import load_vectors
from elmokit.vectors.npy import save_vectors

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
    np.save(tmp_path / "rows.npy", np.ascontiguousarray(rows))
    np.save(tmp_path / "offsets.npy", np.array([0, 2, 2, 3], np.int64))
    assert (tmp_path / "v.npy").read_bytes() == (tmp_path / "rows.npy").read_bytes()
    assert (tmp_path / "v.offsets.npy").read_bytes() == (tmp_path / "offsets.npy").read_bytes()
    assert (tmp_path / "v.txt").read_bytes() == "the cat\n\n밥\n".encode()


def test_a_full_disk_is_an_error_and_leaves_nothing(tmp_path: Path):
    with files_of_at_most(50_000), pytest.raises(OSError, match="File too large"):
        save_vectors(tmp_path / "v.npy", [["a"] * 10] * 1000, [np.zeros((10, 8), np.float32)] * 1000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "sentences", "shape", "message"),
    [
        ("v.h5", [["a"]], (1, 4), r"v.h5 does not end in .npy"),
        ("v.npy", [["a b"]], (1, 4), r"a token is empty or has a space, .* in it: \['a b'\]"),
        ("v.npy", [["a\0"]], (1, 4), r"a token is empty or has a space, .* in it: \['a\\x00'\]"),
        ("v.npy", [["\ufeffa"]], (1, 4), r"a token is empty or has a space, .* in it: "),
        ("v.npy", [["a\ud83d"]], (1, 4), r"a token is empty or has a space, .* in it: "),
        ("v.npy", [["a\r"]], (1, 4), r"a token is empty or has a space, .* in it: \['a\\r'\]"),
        ("v.npy", [["a", "b"]], (1, 4), r"sentence 0 has 2 tokens, but vectors of shape \(1, 4\)"),
        ("v.npy", [], (1, 4), r"no sentences"),
        ("v.npy", ["ab"], (2, 4), r"sentence 0 is the string 'ab'; expected a list of tokens"),
    ],
)
def test_what_cannot_be_saved_leaves_nothing(
    tmp_path: Path, name: str, sentences: list[str | list[str]], shape: tuple[int, ...], message: str
):
    with pytest.raises(ValueError, match=message):
        save_vectors(tmp_path / name, sentences, [np.zeros(shape)] * len(sentences))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (np.zeros((1, 5)), r"vectors of shape \(1, 5\), but sentence 0 of shape \(1, 4\); expected .* the same width"),
        *((np.full((1, 4), value), "not finite, or beyond the range of float16") for value in (1e6, -1e6, np.nan)),
    ],
)
def test_vectors_of_another_width_or_beyond_float16_are_refused(tmp_path: Path, second: np.ndarray, message: str):
    with pytest.raises(ValueError, match=f"sentence 1.* {message}"):
        save_vectors(tmp_path / "v.npy", [["a"], ["b"]], [np.zeros((1, 4)), second])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("found", [1, "more"])
def test_more_or_fewer_arrays_than_sentences_are_refused(tmp_path: Path, found: int | str):
    arrays = [np.zeros((1, 4))] * (1 if found == 1 else 3)
    with pytest.raises(ValueError, match=f"2 sentences, but {found} arrays; expected one for each"):
        save_vectors(tmp_path / "v.npy", [["a"], ["b"]], arrays)
