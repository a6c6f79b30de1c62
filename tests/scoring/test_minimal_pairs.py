"""Minimal pairs: the good sentence has to be more probable."""

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.scoring.minimal_pairs import PairScore, accuracies, read_pairs, score_pairs
from toy_bilm import TINY, toy_elmo, write_toy


def test_the_probabilities_are_those_of_the_sentences_in_each_direction_of_the_model() -> None:
    pairs = [(["a", "b"], ["b", "a"]), (["c"], ["a", "b"])]
    first, second = score_pairs(toy_elmo().surprisal_model(), pairs)
    ab, ba, c = toy_elmo().surprisal([["a", "b"], ["b", "a"], ["c"]])
    for direction in ("forward", "backward"):
        assert first.good[direction] == second.bad[direction] == pytest.approx(ab.log2_probability(direction))
        assert first.bad[direction] == pytest.approx(ba.log2_probability(direction))
        assert second.good[direction] == pytest.approx(c.log2_probability(direction))
    assert first.good["both"] == first.good["forward"] + first.good["backward"]
    elmo = toy_elmo(replace(TINY, bidirectional=False))
    (score,) = score_pairs(elmo.surprisal_model(), [(["a"], ["b"])])
    assert list(score.good) == ["forward"]


def test_a_tie_is_not_right() -> None:
    found = accuracies([PairScore({"forward": good}, {"forward": -2.0}) for good in (-1.0, -2.0, -3.0)])
    assert (found["forward"].correct, found["forward"].total) == (1, 3)
    assert accuracies([]) == {}


def test_pairs_are_read_from_lines_of_two_halves(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("A dog barks.\tA dog bark.\n\na b\tb a\n")
    with pytest.warns(UserWarning, match="pairs.tsv looks like raw text"):
        assert list(read_pairs(path)) == [(["A", "dog", "barks."], ["A", "dog", "bark."]), (["a", "b"], ["b", "a"])]
    assert next(read_pairs(path, raw_text=True))[0] == ["A", "dog", "barks", "."]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((f"a\tb\n{line}\n", ", line 2: expected two sentences separated") for line in ("a b", "a\tb\tc", "a\t")),
        ("\n", ": has no pair"),
        ("sentence_good\tBad\na\tb\n", ", line 1: looks like the names of columns"),
        ("\nplausible\timplausible \nWe sat .\tSat we .\n", ", line 2: looks like the names of columns"),
    ],
)
def test_a_file_of_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pairs.tsv").write_text(text)
    with pytest.raises(ValueError, match=rf"pairs\.tsv{message}"):
        list(read_pairs(tmp_path / "pairs.tsv"))
    if "names" in message:
        assert list(read_pairs(tmp_path / "pairs.tsv", as_text=True))


def test_pairs_may_be_of_words(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("mouse\tmouses\nran\trunned\n")
    assert list(read_pairs(tmp_path / "pairs.tsv")) == [(["mouse"], ["mouses"]), (["ran"], ["runned"])]


def test_the_command_prints_accuracies_and_writes_the_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tb a\nb a\ta b\n")
    output = tmp_path / "out.tsv"
    command = ["surprisal", str(write_toy(tmp_path / "model")), str(tmp_path / "pairs.tsv"), "--pairs"]
    assert main([*command, "-o", str(output)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:3] for row in rows[1:]] == [[name, "1", "2"] for name in ("forward", "backward", "both")]
    names, first, second = (line.split("\t") for line in output.read_text().splitlines())
    assert names[:4] == ["pair_id", "forward_good", "forward_bad", "forward_right"] and len(names) == 10
    assert first[1] == second[2] and {first[3], second[3]} == {"0", "1"}
