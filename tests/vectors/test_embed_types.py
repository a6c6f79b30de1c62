"""One vector for each word of a text: averages computed by hand, in the files of other programs."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.integrations.ray_data import EmbeddedPiece, embed_piece, list_pieces
from elmokit.text.word_vectors import read_word_vectors
from elmokit.vectors import embed_file as embed
from elmokit.vectors.embed_file import embed_file
from elmokit.vectors.embed_types import EmbeddedTypes, embed_types
from elmokit.vectors.files import load_vectors
from refusals import refused_options
from toy_bilm import random_bilm

ELMO = Elmo(random_bilm())
SENTENCES = [["the", "bank", "of", "the", "river"], [], ["the", "bank"], ["a", "river"]]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{' '.join(sentence)}\n" for sentence in SENTENCES))
    return path


@pytest.mark.parametrize("layers", ["top", "average", 0, [0.1, 0.3, 0.6]])
def test_a_vector_is_the_average_over_the_occurrences_of_a_word(
    layers: embed.Layers, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BLOCK_LINES", 2)
    output = text.with_suffix(".vec")
    assert embed_types(ELMO, text, output, layers=layers, min_count=2) == EmbeddedTypes(num_types=3, num_tokens=9)
    found = read_word_vectors(output, [], first=9)
    assert found.words == ["the", "bank", "river"]  # by falling frequency; `of` and `a` occur once
    first, _, third, fourth = ELMO.encode(SENTENCES, layers=layers)
    expected = [(first[0] + first[3] + third[0]) / 3, (first[1] + third[1]) / 2, (first[4] + fourth[1]) / 2]
    np.testing.assert_allclose(found.matrix, expected, atol=1e-6)
    assert sorted(os.listdir(text.parent)) == ["text.txt", "text.vec"]


def test_the_average_of_many_equal_vectors_is_the_vector(text: Path) -> None:
    text.write_text(f"{'the ' * 1000}\n" * 30)
    embed_types(ELMO, text, text.with_suffix(".vec"), layers=0)
    expected = ELMO.encode([["the"]], layers=0)[0]
    np.testing.assert_array_equal(read_word_vectors(text.with_suffix(".vec"), ["the"]).matrix, expected)


def test_what_has_no_vectors_of_words_is_refused(text: Path, snapshot: SnapshotAssertion) -> None:
    def embed(output: str = "out.vec", **options: Any) -> None:
        embed_types(ELMO, text, text.with_name(output), **options)

    given = [{"output": "out.npz"}, {"layers": "all"}, {"min_count": 0}, {"min_count": 4}]
    assert refused_options(embed, given, folder=text.parent) == snapshot
    assert os.listdir(text.parent) == ["text.txt"]


def test_the_verb_writes_a_table_of_the_words_of_a_book(text: Path, capsys: pytest.CaptureFixture[str]):
    ELMO.save(text.with_name("model"))
    text.write_text("The bank. The\nbank!\n")
    command = ["embed", str(text), "--model", str(text.with_name("model")), "--types", "--split-sentences"]
    assert main([*command, "-o", str(text.with_suffix(".tsv")), "--min-count", "2"]) == 0
    rows = [line.split("\t") for line in text.with_suffix(".tsv").read_text().splitlines()]
    assert [row[:2] for row in rows] == [["word", "count"], ["The", "2"], ["bank", "2"]]
    assert len(rows[0]) == 2 + ELMO.dim
    assert capsys.readouterr().out.startswith(f"{text.with_suffix('.tsv')}: 2 words of 6 tokens, ")


FOLDER = os.fsdecode(b"caf\xe9") if sys.platform == "linux" else "café"  # not UTF-8
TEXTS = ["It's cold.", "A café", "", "밥을 먹었다", *(f"line {number} of many" for number in range(3))]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    table = pa.table({"id": range(len(TEXTS)), "text": TEXTS})
    pq.write_table(table, tmp_path / "in" / "b.parquet", row_group_size=5)
    pq.write_table(table.slice(0, 2), tmp_path / "in" / "a.parquet")
    return tmp_path / "in"


def embed_all(corpus: Path, output: Path, **settings: Any) -> list[EmbeddedPiece]:
    output.mkdir(exist_ok=True)
    return [embed_piece(ELMO, piece, **settings) for piece in list_pieces(corpus, output)]


@pytest.mark.parametrize("layers", ["top", "all"])
def test_pieces_are_what_embed_file_makes(corpus: Path, tmp_path: Path, layers: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embed, "BLOCK_LINES", 2)  # several blocks per piece
    corpus, output = corpus.rename(tmp_path / FOLDER), tmp_path / f"{FOLDER} out"
    done = embed_all(corpus, output, layers=layers)
    names = ["a-00000.parquet", "b-00000.parquet", "b-00001.parquet"]
    assert sorted(os.listdir(output)) == names
    assert [one.num_sentences for one in done] == [2, 5, 2] and not any(one.was_there for one in done)
    embed_file(ELMO, corpus / "b.parquet", tmp_path / "b.parquet", layers=layers)
    found = [array for name in names[1:] for array in load_vectors(output / name)]
    for ours, theirs in zip(found, load_vectors(tmp_path / "b.parquet"), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert done[1].num_tokens + done[2].num_tokens == sum(array.shape[-2] for array in found)


def test_columns_are_kept_and_raw_text_gets_offsets(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embed, "BLOCK_LINES", 2)  # so that later blocks are checked, too
    embed_all(corpus, tmp_path / "out", raw_text=True)
    rows = pq.read_table(tmp_path / "out" / "b-00000.parquet").to_pylist()
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4] and next(iter(rows[0])) == "id"
    for row in rows:
        assert [row["text"][start:end] for start, end in row["offsets"]] == row["tokens"]


def test_files_of_another_job_are_refused_and_a_group_without_rows_is_no_piece(corpus: Path, tmp_path: Path):
    pq.write_table(pa.table({"text": ["a cat"], "title": ["dogs"]}), corpus / "a.parquet")
    embed_all(corpus / "a.parquet", tmp_path / "out")
    for settings, message in (
        ({"layers": "all"}, r"a-00000.parquet was made with a different layers \('top', now 'all'\); choose"),
        ({"column": "title"}, r"was made with a different column \('text', now 'title'\)"),
    ):
        with pytest.raises(ValueError, match=message):
            embed_all(corpus / "a.parquet", tmp_path / "out", **settings)
    pq.write_table(pa.table({"text": ["other"]}), corpus / "a.parquet")
    with pytest.raises(ValueError, match=r"a-00000.parquet was made with a different text"):
        embed_all(corpus, tmp_path / "out")
    written = {"text": ["a cat"], "tokens": [["a"]], "offsets": [0]}
    pq.write_table(pa.table(written), corpus / "a.parquet")
    with pytest.raises(ValueError, match=r"a.parquet: its columns offsets, tokens have the same names as columns of"):
        embed_all(corpus, tmp_path / "out", raw_text=True)
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "empty.parquet")
    assert list_pieces(tmp_path / "empty.parquet", tmp_path / "other") == []


def test_files_of_input_whose_other_columns_have_changed_are_refused_and_those_of_none_are_warned_of(tmp_path: Path):
    table = pa.table({"text": ["a cat", "b"], "score": [float("nan"), 1.0], "k.v": ["x", None], "list": [[1], []]})
    for columns in (table, table, table.set_column(1, "score", [[0.0, 1.0]]), table.drop_columns("k.v")):
        pq.write_table(columns, tmp_path / "in.parquet")
        if columns is table:
            done = embed_all(tmp_path / "in.parquet", tmp_path / "out")
        else:
            with pytest.raises(ValueError, match=r"in-00000.parquet was made with a different other columns"):
                embed_all(tmp_path / "in.parquet", tmp_path / "out")
    assert done[0].was_there
    (tmp_path / "in.parquet").rename(tmp_path / "b.parquet")
    with pytest.warns(UserWarning, match=r"out has files from other input, 1 in all: in-00000.parquet"):
        embed_all(tmp_path / "b.parquet", tmp_path / "out")


def test_folders_without_input_or_that_are_the_input_are_refused(tmp_path: Path, corpus: Path):
    (tmp_path / "empty").mkdir()
    for unread in ("", "; subfolders are not read: year=1850"):
        with pytest.raises(FileNotFoundError, match=rf"empty has no file that ends in \.parquet{unread}$"):
            list_pieces(tmp_path / "empty", tmp_path / "out")
        (tmp_path / "empty" / "year=1850").mkdir(exist_ok=True)
    (tmp_path / "empty" / "._a.parquet").write_bytes(b"of macOS")
    (corpus / "a.parquet").rename(tmp_path / "empty" / "a.PARQUET")
    with pytest.warns(UserWarning, match=r"subfolders of .*empty are not read: year=1850$"):
        assert [piece.input.name for piece in list_pieces(tmp_path / "empty", tmp_path / "new")] == ["a.PARQUET"]
    with pytest.raises(ValueError, match=r"in is the folder of the input; choose another folder for the vectors"):
        list_pieces(corpus, corpus)
