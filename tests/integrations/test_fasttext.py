"""fastText's `.bin` files, compared with gensim's reader, and vector files from other systems."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from elmokit.cli.main import main
from elmokit.integrations.embed_with import embed_with, open_static
from elmokit.integrations.fasttext import FastText, read_fasttext
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import load_vectors
from refusals import refused_files
from toy_vectors import unpadded

fasttext: Any = pytest.importorskip("gensim.models.fasttext")

LINES = "the un believable cat sat on the mat\n잘한다 는 말 을 그는 믿는다 the cat\nnaïve cafés sat on\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fasttext") / "model.bin"
    sentences = [line.split() for line in LINES.splitlines() * 3]
    settings = {"vector_size": 6, "min_count": 1, "epochs": 2, "bucket": 50, "min_n": 1, "max_n": 4}
    fasttext.save_facebook_model(fasttext.FastText(sentences, sg=1, sample=0, workers=1, **settings), str(path))
    return path


@pytest.fixture(scope="module")
def read(model: Path) -> FastText:
    return read_fasttext(model)


def test_vectors_are_those_of_gensim_for_known_words_and_for_others(model: Path, read: FastText):
    theirs = fasttext.load_facebook_vectors(str(model))
    for word in ("the", "잘한다", "naïve", "unbelievable", "잘했다", "x", "日", "é", "<", "a<b"):
        np.testing.assert_allclose(read.vector(word), theirs.get_vector(word), atol=1e-6)


def test_ngrams_count_characters_and_leave_out_the_lone_marks(read: FastText):
    assert FastText(Path("m"), {}, read.matrix, 5, 3, 4).ngrams("눈") == ["<눈>"]
    for least in (0, 1):
        assert FastText(Path("m"), {}, read.matrix, 5, least, 2).ngrams("ab") == ["<a", "a", "ab", "b", "b>"]
    assert FastText(Path("m"), {}, read.matrix, 5, 1, 1).ngrams("<>") == ["<", ">"]  # the word's own marks


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


def test_a_word_without_ngrams_has_its_own_row_only(model: Path, read: FastText, tmp_path: Path):
    for version, max_n in ((12, 0), (11, 4)):  # max_n 0: n-grams of words only; version 11 ignores max_n
        content = bytearray(model.read_bytes())
        for place, value in ((4, version), (36, 3), (48, max_n)):
            struct.pack_into("<i", content, place, value)
        (tmp_path / "classifier.bin").write_bytes(content)
        classifier = read_fasttext(tmp_path / "classifier.bin")
        np.testing.assert_array_equal(classifier.vector("the"), read.matrix[read.rows["the"]])
        assert not classifier.vector("unseen").any()


def test_damaged_settings_dictionaries_or_matrices_and_cut_files_are_refused(
    model: Path, read: FastText, tmp_path: Path, snapshot: SnapshotAssertion
):
    content, shape = model.read_bytes(), read.matrix.shape
    header = struct.pack("<?2q", False, *shape)

    def put(at: int, layout: str, value: int) -> bytes:
        number = struct.pack(layout, value)
        return content[:at] + number + content[at + len(number) :]

    damaged = (
        *(put(at, "<i", value) for at, value in ((4, 9), (8, 0), (8, 7), (40, 0), (44, 9))),
        put(84, "<q", 3),
        content.replace(header, struct.pack("<?2q", True, *shape)),
        *(content.replace(header, struct.pack("<?2q", False, rows, 6)) for rows in (1 << 60, -1)),
        content.replace(b"sat\0", b"cat\0", 1),
    )
    assert refused_files(read_fasttext, tmp_path / "damaged.bin", damaged) == snapshot
    for cut in (put(64, "<i", 2_000_000_000), *(content[:length] for length in (0, 40, 90, 100, 130, 420, 1000))):
        (tmp_path / "damaged.bin").write_bytes(cut)
        with pytest.raises(ValueError, match="damaged.bin: "):
            read_fasttext(tmp_path / "damaged.bin")


@given(changes=st.dictionaries(st.integers(4, 499), st.integers(0, 255), min_size=1, max_size=4))
def test_random_damage_gives_a_refusal_or_a_model(model: Path, changes: dict[int, int]):
    damaged = bytearray(model.read_bytes())
    for place, value in changes.items():
        damaged[place] = value
    (path := model.with_name("damaged.bin")).write_bytes(damaged)
    try:
        read_fasttext(path).vector("unbelievable")
    except ValueError as error:
        assert "damaged.bin: " in str(error)


GLOVE, TEXT, OUT = Path("glove.txt"), Path("text.txt"), Path("out.npy")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    GLOVE.write_text("the 1 2\ncat 3 4\n. 0 1\n")
    TEXT.write_text("the cat\n\nthe dog .\n")


def test_the_file_has_the_sentences_and_is_read_in_place_of_elmo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    done = embed_with("static", "~/glove.txt", "~/text.txt", "~/out.npy")
    assert (done.num_lines, done.num_tokens) == (3, 5)
    vectors = load_vectors(OUT)
    assert vectors.sentences() == [["the", "cat"], [], ["the", "dog", "."]]
    np.testing.assert_array_equal(vectors[0], [[[1, 2], [3, 4]]])
    assert FileVectorSource(OUT)([["the", "cat"]]).shape == (1, 1, 2, 2)


def test_missing_words_are_counted_and_long_lines_are_batches_of_their_own():
    TEXT.write_text("the\ncat e\u0301te\u0301 eaux\neaux\n")
    with pytest.warns(UserWarning, match=r"3 of 5 tokens have no vector in glove\.txt, and got zeros; is the"):
        embed_with("static", GLOVE, TEXT, OUT)
    assert not load_vectors(OUT)[2].any()
    lines = ["the " * 9000, "cat"] * 2
    TEXT.write_text("".join(f"{line}\n" for line in lines))
    embed_with("static", GLOVE, TEXT, OUT, overwrite=True)
    assert [array.shape[1] for array in load_vectors(OUT)] == [9000, 1, 9000, 1]


def test_a_column_of_parquet_is_read(tmp_path: Path):
    pq.write_table(pa.table({"text": ["the\ncat", "the ."]}), tmp_path / "in.parquet")
    embed_with("static", GLOVE, tmp_path / "in.parquet", OUT, column="text")
    assert load_vectors(OUT).sentences() == [["the", "cat"], ["the", "."]]


def test_neither_input_nor_model_is_overwritten_by_the_tokens():
    for path in (TEXT, GLOVE):
        taken = path.rename("out.npy.tokens.txt")
        text, model = (taken, GLOVE) if path is TEXT else (TEXT, taken)
        with pytest.raises(ValueError, match=r"out\.npy\.tokens\.txt would be replaced by the output"):
            embed_with("static", model, text, OUT, overwrite=True)
        taken.rename(path)


def test_the_command_is_the_function(capsys: pytest.CaptureFixture[str]):
    TEXT.write_text("The cat.\n")
    assert main(["embed", "text.txt", "-o", "out.npy", "--with", "static:glove.txt", "--tokenize"]) == 0
    assert capsys.readouterr().out == "out.npy: 1 line, 3 tokens, 0.0 MB, vectors of static:glove.txt\n"
    np.testing.assert_array_equal(load_vectors(OUT)[0], [[[1, 2], [3, 4], [0, 1]]])
