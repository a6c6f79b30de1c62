"""fastText's `.bin` files: equal to gensim's reader, exact in its n-grams, and hostile files are refused."""

import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmokit.integrations.fasttext import FastText, looks_like_fasttext, read_fasttext
from elmokit.integrations.word_vectors import open_static
from paper.comparators.word_vector_training import train_fasttext
from unpadded import unpadded

fasttext: Any = pytest.importorskip("gensim.models.fasttext")

LINES = "the un believable cat sat on the mat\n잘한다 는 말 을 그는 믿는다 the cat\nnaïve cafés sat on\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fasttext")
    (folder / "shard.txt").write_text(LINES * 3, encoding="utf-8")
    settings = ["dim=6", "min_count=1", "epochs=2", "bucket=50", "min_n=1", "max_n=4", "subsample=0"]
    train_fasttext([folder / "shard.txt"], folder / "model.bin", settings)
    return folder / "model.bin"


@pytest.fixture(scope="module")
def read(model: Path) -> FastText:
    return read_fasttext(model)


@pytest.mark.parametrize("word", ["the", "잘한다", "naïve", "unbelievable", "잘했다", "x", "日", "é", "<", "a<b"])
def test_vectors_are_those_of_gensim_for_known_words_and_for_others(model: Path, read: FastText, word: str):
    theirs = fasttext.load_facebook_vectors(str(model))
    np.testing.assert_allclose(read.vector(word), theirs.get_vector(word), atol=1e-6)


def test_ngrams_count_characters_and_leave_out_the_lone_marks(read: FastText):
    assert FastText(Path("m"), {}, read.matrix, 5, 3, 4).ngrams("눈") == ["<눈>"]
    for least in (0, 1):
        assert FastText(Path("m"), {}, read.matrix, 5, least, 2).ngrams("ab") == ["<a", "a", "ab", "b", "b>"]
    assert FastText(Path("m"), {}, read.matrix, 5, 1, 1).ngrams("<>") == ["<", ">"]  # those of the word itself


def test_a_word_without_rows_is_zero_the_sentence_end_has_its_own_row_only_and_no_number_is_infinite(read: FastText):
    words_only = FastText(Path("m"), {"</s>": 0}, read.matrix, 0, 0, 0)
    assert not words_only.vector("unseen").any()
    with_ngrams = FastText(Path("m"), {"</s>": 0}, read.matrix, 50, 1, 4)
    np.testing.assert_array_equal(with_ngrams.vector("</s>"), read.matrix[0])
    broken = FastText(Path("m.bin"), {"a": 0}, np.array([[np.nan]], np.float32), 0, 0, 0)
    with pytest.raises(ValueError, match="m.bin: vector of 'a': has a number that is not finite"):
        broken.vector("a")


def test_the_words_of_sentences_are_one_layer_and_a_missing_file_is_named(model: Path, read: FastText):
    layers = open_static(str(model))
    known, empty = unpadded(layers, [["unbelievable", "the"], []])
    np.testing.assert_array_equal(known[0], [read.vector("unbelievable"), read.vector("the")])
    assert empty.shape == (1, 0, layers.dim)
    with pytest.raises(FileNotFoundError, match="there is no such file; expected word vectors"):
        open_static("none.vec")


def test_a_file_is_recognised_by_its_magic_number(model: Path, tmp_path: Path):
    (tmp_path / "glove.txt").write_text("the 1 2\n")
    assert looks_like_fasttext(model)
    assert not looks_like_fasttext(tmp_path / "glove.txt")


@pytest.mark.parametrize(
    ("version", "max_n"),
    [(12, 0), (11, 4)],  # n-grams of words alone; before version 12 these settings had no meaning
    ids=["without n-grams", "version 11"],
)
def test_a_word_of_a_classifier_without_ngrams_of_characters_has_its_own_row_only(
    version: int, max_n: int, model: Path, read: FastText, tmp_path: Path
):
    content = bytearray(model.read_bytes())
    for place, value in ((4, version), (36, 3), (48, max_n)):
        struct.pack_into("<i", content, place, value)
    (tmp_path / "classifier.bin").write_bytes(content)
    classifier = read_fasttext(tmp_path / "classifier.bin")
    np.testing.assert_array_equal(classifier.vector("the"), read.matrix[read.rows["the"]])
    assert not classifier.vector("unseen").any()


@pytest.mark.parametrize(
    ("at", "format", "value", "message"),
    [
        (4, "<i", 9, "version 9"),
        (8, "<i", 0, "dim: is 0"),
        (8, "<i", 7, r"input matrix: has shape \(\d+, 6\); expected 15 words and 50 buckets of 7 numbers"),
        (40, "<i", 0, "bucket: is 0, with n-grams"),
        (44, "<i", 9, "n-grams: from 9 to 4 characters"),
        (64, "<i", 2_000_000_000, "dictionary: has 2,000,000,000 entries"),
        (84, "<q", 3, r"dictionary: is compressed \(.ftz\)"),
    ],
)
def test_damaged_settings_are_refused_before_memory_is_taken(
    model: Path, tmp_path: Path, at: int, format: str, value: int, message: str
):
    content = bytearray(model.read_bytes())
    struct.pack_into(format, content, at, value)
    (tmp_path / "damaged.bin").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_fasttext(tmp_path / "damaged.bin")


def test_an_input_matrix_that_is_compressed_or_too_large_is_refused(model: Path, read: FastText, tmp_path: Path):
    content = model.read_bytes()
    at = content.index(struct.pack("<?2q", False, *read.matrix.shape))
    for header, message in (
        (struct.pack("<?2q", True, *read.matrix.shape), "is compressed"),
        (struct.pack("<?2q", False, 1 << 60, 6), "of shape .* would have"),
        (struct.pack("<?2q", False, -1, 6), "of shape .* would have"),
    ):
        (tmp_path / "damaged.bin").write_bytes(content[:at] + header + content[at + 17 :])
        with pytest.raises(ValueError, match=message):
            read_fasttext(tmp_path / "damaged.bin")


def test_random_damage_gives_a_refusal_or_a_model(model: Path, tmp_path: Path):
    content, draw = model.read_bytes(), random.Random(0)
    for _ in range(200):
        damaged = bytearray(content)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(4, 500)] = draw.randrange(256)
        (tmp_path / "damaged.bin").write_bytes(damaged)
        try:
            read_fasttext(tmp_path / "damaged.bin").vector("unbelievable")
        except ValueError as error:
            assert "damaged.bin: " in str(error)


@pytest.mark.parametrize("length", [0, 40, 90, 100, 130, 420, 1000])
def test_a_file_that_is_cut_short_is_refused(model: Path, tmp_path: Path, length: int):
    (tmp_path / "cut.bin").write_bytes(model.read_bytes()[:length])
    with pytest.raises(ValueError, match="cut.bin: "):
        read_fasttext(tmp_path / "cut.bin")


def test_entries_of_another_type_and_words_that_are_there_twice_are_refused(
    model: Path, read: FastText, tmp_path: Path
):
    content = model.read_bytes()
    words = list(read.rows)
    at = content.index(words[0].encode() + b"\0")
    kind = at + len(words[0].encode()) + 1 + 8
    (tmp_path / "label.bin").write_bytes(content[:kind] + b"\1" + content[kind + 1 :])
    with pytest.raises(ValueError, match="entry 0: has type 1"):
        read_fasttext(tmp_path / "label.bin")
    same = content.replace(b"sat\0", b"cat\0", 1)
    (tmp_path / "twice.bin").write_bytes(same)
    with pytest.raises(ValueError, match="word 'cat': is there twice"):
        read_fasttext(tmp_path / "twice.bin")
