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


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2\ncat 3 4\n. 0 1\n")
    return path


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat\n\nthe dog .\n")
    return path


@pytest.mark.usefixtures("glove", "text")
def test_the_file_has_the_sentences_and_is_read_in_place_of_elmo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    done = embed_with("static", "~/glove.txt", "~/text.txt", "~/out.npy")
    assert (done.num_lines, done.num_tokens) == (3, 5)
    vectors = load_vectors(tmp_path / "out.npy")
    assert vectors.sentences() == [["the", "cat"], [], ["the", "dog", "."]]
    np.testing.assert_array_equal(vectors[0], [[[1, 2], [3, 4]]])
    assert FileVectorSource(tmp_path / "out.npy")([["the", "cat"]]).shape == (1, 1, 2, 2)


def test_missing_words_are_counted_and_long_lines_are_batches_of_their_own(glove: Path, text: Path, tmp_path: Path):
    text.write_text("the\ncat e\u0301te\u0301 eaux\neaux\n")
    with pytest.warns(UserWarning, match=r"3 of 5 tokens have no vector in .*glove\.txt, and got zeros; is it of"):
        embed_with("static", glove, text, tmp_path / "out.npy")
    assert not load_vectors(tmp_path / "out.npy")[2].any()
    lines = ["the " * 9000, "cat"] * 2
    text.write_text("".join(f"{line}\n" for line in lines))
    embed_with("static", glove, text, tmp_path / "out.npy")
    assert [array.shape[1] for array in load_vectors(tmp_path / "out.npy")] == [9000, 1, 9000, 1]


def test_a_column_of_parquet_is_read(glove: Path, tmp_path: Path):
    pq.write_table(pa.table({"text": ["the\ncat", "the ."]}), tmp_path / "in.parquet")
    embed_with("static", glove, tmp_path / "in.parquet", tmp_path / "out.npy", column="text")
    assert load_vectors(tmp_path / "out.npy").sentences() == [["the", "cat"], ["the", "."]]


def test_neither_input_nor_model_is_overwritten_by_the_tokens(glove: Path, text: Path):
    for path in (text, glove):
        before = path.read_text()
        with pytest.raises(ValueError, match=rf"{path.name} would be replaced by the output"):
            embed_with("static", glove, text, path.with_suffix(".npy"), raw_text=path is text)
        assert path.read_text() == before


def test_the_command_is_the_function(glove: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "out.npy"
    text.write_text("The cat.\n")
    assert main(["embed", str(text), "-o", str(out), "--with", f"static:{glove}", "--tokenize"]) == 0
    assert "1 line, 3 tokens" in capsys.readouterr().out
    np.testing.assert_array_equal(load_vectors(out)[0], [[[1, 2], [3, 4], [0, 1]]])
