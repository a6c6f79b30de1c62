"""One vector for each word of a text: averages computed by hand, in the files of other programs."""

import os
from pathlib import Path

import numpy as np
import pytest

from elmokit.cli.main import main
from elmokit.elmo.elmo import Elmo
from elmokit.text.word_vectors import read_word_vectors
from elmokit.vectors import embed_file as embed
from elmokit.vectors.embed_types import EmbeddedTypes, embed_types
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


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("out.npz", {}, r"out\.npz: vectors of words are text; expected a name that ends in \.vec or \.tsv"),
        ("out.vec", {"layers": "all"}, "layers is 'all'; a word has one vector"),
        ("out.vec", {"min_count": 0}, "min_count is 0; expected at least 1"),
        ("out.vec", {"min_count": 4}, r"no word of .*text\.txt occurs 4 times; lower --min-count"),
    ],
)
def test_what_has_no_vectors_of_words_is_refused(
    output: str, options: dict[str, object], message: str, text: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        embed_types(ELMO, text, text.with_name(output), **options)  # type: ignore[arg-type]
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
