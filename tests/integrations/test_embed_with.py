"""Files of other systems' vectors, by function and by command."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmokit.cli.main import main
from elmokit.integrations.embed_with import embed_with
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import load_vectors

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
    with pytest.warns(UserWarning, match=r"3 of 5 tokens have no vector in glove\.txt, and got zeros; is it of"):
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
