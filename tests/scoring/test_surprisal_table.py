"""The tables of `elmokit surprisal`, as the command writes them, and minimal pairs: the good sentence is likelier."""

import csv
import io
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from elmokit.cli.main import main
from elmokit.scoring.minimal_pairs import PairScore, accuracies, read_pairs, score_pairs
from elmokit.scoring.surprisal_table import TableSettings, surprisal_table
from elmokit.text.corpora.tables import as_tsv
from elmokit.text.vocabulary import Vocabulary
from toy_bilm import TINY, toy_elmo, write_toy


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_toy(tmp_path / "model")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("a b z\n\nc a\n")
    return path


def read_rows(table: str) -> list[list[str]]:
    """The rows as spreadsheets, pandas and R read them by default."""
    return list(csv.reader(io.StringIO(table, newline=""), delimiter="\t"))


def table(model: Path, text: Path, *options: str) -> list[dict[str, str]]:
    output = text.with_suffix(".tsv")
    assert main(["surprisal", str(model), str(text), "-o", str(output), *options]) == 0
    names, *rows = read_rows(output.read_text())
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_a_row_for_each_token_begins_with_the_columns_of_lm_zoo(model: Path, text: Path) -> None:
    rows = table(model, text)
    assert list(rows[0]) == ["sentence_id", "token_id", "token", "surprisal", "backward", "known"]
    assert [(row["sentence_id"], row["token_id"], row["token"], row["known"]) for row in rows] == [
        *(("1", "1", "a", "1"), ("1", "2", "b", "1"), ("1", "3", "z", "0")),
        *(("3", "1", "c", "1"), ("3", "2", "a", "1")),
    ]
    first, second = toy_elmo().surprisal([["a", "b", "z"], ["c", "a"]])
    for direction, column in (("forward", "surprisal"), ("backward", "backward")):
        expected = [*first.bits(direction), *second.bits(direction)]
        assert [float(row[column]) for row in rows] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("is_terminal", "at_most"), [(True, 1), (False, 24)])
def test_rows_come_before_the_end_of_the_input(is_terminal: bool, at_most: int, monkeypatch: Any) -> None:
    """Lines come one at a time, from a terminal or through a pipe."""
    lines = iter([b"a b\n"] * at_most)

    def readinto(_: object, buffer: Any) -> int:
        buffer[:4] = next(lines)
        return 4

    methods = {"isatty": lambda _: is_terminal, "readable": lambda _: True, "readinto": readinto}
    typed = type("Typed", (io.RawIOBase,), methods)()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BufferedReader(typed)))
    rows = surprisal_table(toy_elmo().surprisal_model(), "-", TableSettings())
    assert [row[2] for row in next(rows) + next(rows)] == ["token", "a", "b"]


def test_each_row_is_read_as_one_whatever_its_token_is(model: Path, text: Path) -> None:
    tokens = ['"', 'a"b', '""', '"a', 'a"', "“", "'", "\\", "a\\", "#", ""]
    tokens += ["\xa0", "\r", "a\rb", "a\tb", "\u2028", "\x0b", "\x85"]
    rows = [[str(number), token, "0.5"] for number, token in enumerate(tokens)]
    assert read_rows(as_tsv(rows)) == rows
    text.write_text('The 5" keys are here .\nThe 5" keys is here .\n')
    assert [row["token"] for row in table(model, text)] == text.read_text().split()


def test_lm_zoo_reads_four_columns_and_finds_known_tokens_in_the_text(tmp_path: Path, text: Path, capsys: Any) -> None:
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", '"', "..."])
    model = write_toy(tmp_path / "model", vocabulary=vocabulary)
    text.write_text('a b\n\n“a” "z" a…\n')

    def printed(what: str) -> str:
        assert main(["surprisal", str(model), str(text), "--format", what]) == 0
        return capsys.readouterr().out

    names, *rows = read_rows(printed("lm-zoo"))
    assert names == ["sentence_id", "token_id", "token", "surprisal"]
    tokens = printed("lm-zoo-tokenize")
    assert tokens == 'a <UNK>\n\n“ a ” " <UNK> " a …\n'
    assert [row[2] for row in rows] == tokens.split()
    assert printed("lm-zoo-unkify") == "0 1\n\n0 0 0 0 1 0 0 0\n"
    described = json.loads(printed("lm-zoo-spec"))
    assert set(tokens.split()) <= {*described["vocabulary"]["items"]}
    assert described["vocabulary"]["unk_types"] == ["<UNK>"] and described["tokenizer"]["cased"]
    assert [row[3] for row in rows] == [row["surprisal"] for row in table(model, text, "--tokenize")]


def test_a_single_direction_keeps_its_column_and_a_table_may_be_printed(model: Path, text: Path, capsys: Any) -> None:
    both = table(model, text)
    assert capsys.readouterr().out == f"{text.with_suffix('.tsv')}\n"
    assert main(["surprisal", str(model), str(text)]) == 0
    assert capsys.readouterr().out == text.with_suffix(".tsv").read_text()
    forward, backward = (table(model, text, "--direction", direction) for direction in ("forward", "backward"))
    assert [row["surprisal"] for row in forward] == [row["surprisal"] for row in both]
    assert [row["backward"] for row in backward] == [row["backward"] for row in both]
    assert "backward" not in forward[0] and "surprisal" not in backward[0]
    assert list(table(model, text, "--direction", "backward", "--rank")[0])[-2:] == ["known", "backward_rank"]


@pytest.mark.parametrize("rows", [(), ("--words",), ("--sentences",)])
@pytest.mark.parametrize("is_json", [False, True])
def test_columns_of_the_input_are_kept_in_each_row(
    model: Path, text: Path, rows: tuple[str, ...], is_json: bool
) -> None:
    text.write_text('item,text,condition\n1,"a, b",x\n2,,y\n3,c,\n')
    if is_json:
        text.write_text('{"item": 1, "text": "a, b", "condition": "x"}\n\n{"item": 3, "text": "c", "condition": ""}\n')
    options = ("--column", "text", "--tokenize", "--keep", "condition, item")
    found = table(model, text, *options, *rows)
    assert list(found[0])[-2:] == ["condition", "item"]
    assert {(row["item"], row["condition"]) for row in found} == {("1", "x"), ("3", "")}
    plain = table(model, text, *options[:3], *rows)
    assert [{name: row[name] for name in plain[0]} for row in found] == plain


def test_boundaries_and_details_are_columns_and_rows_of_their_own(model: Path, text: Path) -> None:
    rows = table(model, text, "--boundaries", "--rank", "--entropy", "--top", "2")
    assert list(rows[0])[6:] == ["rank", "backward_rank", "entropy", "backward_entropy", "top", "backward_top"]
    assert [(row["token_id"], row["token"]) for row in rows[:5]] == [
        *(("0", "<S>"), ("1", "a"), ("2", "b"), ("3", "z"), ("4", "</S>"))
    ]
    assert rows[0]["surprisal"] == rows[0]["rank"] == rows[4]["backward"] == rows[4]["backward_top"] == "NA"
    assert "NA" not in rows[0]["backward"] + rows[4]["surprisal"] + rows[4]["top"] + rows[0]["backward_entropy"]
    best = [row for row in rows if row["rank"] == "1"]
    shown = {"z": "<UNK>"}
    assert best and all(row["top"].startswith(f"{shown.get(row['token'], row['token'])}:") for row in best)
    plain = [row["surprisal"] for row in table(model, text)]
    assert [row["surprisal"] for row in rows if row["token"] not in ("<S>", "</S>")] == plain


def test_words_have_the_sum_of_their_tokens_and_their_place_in_the_line(model: Path, text: Path) -> None:
    text.write_text("  a, b's\n\u200b a.\n")
    words = table(model, text, "--words")
    assert [(row["token"], row["start"], row["end"], row["num_tokens"]) for row in words] == [
        *(("a,", "2", "4", "2"), ("b's", "5", "8", "2"), ("\u200b", "0", "1", "0"), ("a.", "2", "4", "2"))
    ]
    tokens = table(model, text, "--tokenize")
    assert [row["token"] for row in tokens] == ["a", ",", "b", "'s", "a", "."]
    for column in ("surprisal", "backward"):
        bits = [float(row[column]) for row in tokens]
        sums = [float(row[column]) for row in words if row["num_tokens"] != "0"]
        assert sums == pytest.approx([bits[0] + bits[1], bits[2] + bits[3], bits[4] + bits[5]], abs=1e-5)
    assert words[2]["surprisal"] == "NA"
    assert [row["known"] for row in words] == ["0", "0", "NA", "0"]


def test_sentences_have_their_log_probability_and_a_blank_line_ends_a_story(model: Path, text: Path) -> None:
    rows = table(model, text, "--sentences")
    assert [(row["sentence_id"], row["num_tokens"], row["num_unknown"]) for row in rows] == [
        *(("1", "3", "1"), ("3", "2", "0"))
    ]
    found = toy_elmo().surprisal([["a", "b", "z"], ["c", "a"]])
    for direction, column in (("forward", "log2_probability"), ("backward", "backward_log2_probability")):
        expected = [result.log2_probability(direction) for result in found]
        assert [float(row[column]) for row in rows] == pytest.approx(expected, abs=1e-5)
    text.write_text("a b\na b\n\na b\n")
    first, second, third = table(model, text, "--carry-state", "--sentences")
    assert [row["sentence_id"] for row in (first, second, third)] == ["1", "2", "4"]
    assert first["log2_probability"] == third["log2_probability"] != second["log2_probability"]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("\n \n", [], "there is no sentence in "),
        ("text,item\nA cat sat.,1\n", ["--tokenize"], "--column"),
        ("a\tb\na\t\n", ["--conditional"], "text.txt, line 2: expected a prefix, a tab, and a continuation"),
        ("token,item\na,1\n", ["--column", "token", "--keep", "item,token"], "has a column token, too; rename that"),
        ("text,item\na,1\n", ["--column", "text", "--keep", "condition"], "condition; it has 'text', 'item'"),
        ('{"text": "a"}\n', ["--column", "text", "--keep", "item"], "line 1: field item: is missing; there are text"),
        ("a b\n", ["--keep", "item"], "--keep needs --column"),
        ("a b\n", ["--pairs", "--carry-state"], "--carry-state cannot be combined with --pairs"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_leaves_no_file(
    model: Path, text: Path, capsys: pytest.CaptureFixture[str], content: str, options: list[str], message: str
) -> None:
    text.write_text(content)
    output = text.with_suffix(".tsv")
    assert main(["surprisal", str(model), str(text), "-o", str(output), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not output.exists()


@pytest.mark.parametrize("verb", ["surprisal", "perplexity"])
def test_the_model_comes_first_and_the_device_is_there(model: Path, text: Path, capsys: Any, verb: str) -> None:
    assert main([verb, str(text), "small-en"]) == 2
    assert "small-en is the name of a model, not of a file; expected the model first" in capsys.readouterr().err
    assert main([verb, str(model), str(text), "--device", "xpu:9"]) == 2
    assert "device 'xpu:9' cannot be used here; available: cpu" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "directions"), [((), ("forward", "backward")), (("backward",), ("backward",))])
def test_rows_of_pairs_have_what_a_part_costs_given_the_other(
    options: tuple[str, ...], directions: tuple[str, ...], model: Path, text: Path
) -> None:
    text.write_text("a z\tb c\n\n\tc\n")
    chosen = ("--direction", *options) if options else ()
    first, second = table(model, text, "--conditional", "--nats", *chosen)
    counts = ["pair_id", "prefix_tokens", "prefix_unknown", "continuation_tokens", "continuation_unknown"]
    assert [first[name] for name in counts] == ["1", "2", "1", "2", "0"]
    assert [second[name] for name in counts] == ["2", "0", "0", "1", "0"]
    found, alone = toy_elmo().conditional_surprisal([["a", "z"], []], [["b", "c"], ["c"]])
    columns = [{"forward": "surprisal"}.get(direction, direction) for direction in directions]
    assert list(first) == [*counts, *columns]
    for column, direction in zip(columns, directions, strict=True):
        assert float(first[column]) == pytest.approx(found.total(direction, unit="nats"), abs=1e-5)
    assert second[columns[-1]] == "NA"  # the prefix has no tokens
    assert options or float(second["surprisal"]) == pytest.approx(alone.total(unit="nats"), abs=1e-5)


def test_the_probabilities_are_those_of_the_sentences_in_each_direction_and_a_tie_is_not_right() -> None:
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
    found = accuracies([PairScore({"forward": good}, {"forward": -2.0}) for good in (-1.0, -2.0, -3.0)])
    assert (found["forward"].correct, found["forward"].total) == (1, 3)
    assert accuracies([]) == {}


def test_pairs_are_read_from_lines_of_two_halves(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("A dog barks.\tA dog bark.\n\na b\tb a\n")
    with pytest.warns(UserWarning, match="pairs.tsv looks like raw text"):
        assert list(read_pairs(path)) == [(["A", "dog", "barks."], ["A", "dog", "bark."]), (["a", "b"], ["b", "a"])]
    assert next(read_pairs(path, raw_text=True))[0] == ["A", "dog", "barks", "."]
    path.write_text("mouse\tmouses\nran\trunned\n")
    assert list(read_pairs(path)) == [(["mouse"], ["mouses"]), (["ran"], ["runned"])]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((f"a\tb\n{line}\n", ", line 2: expected two sentences separated") for line in ("a b", "a\tb\tc", "a\t")),
        ("\n", ": has no pair"),
        ("sentence_good\tBad\na\tb\n", ", line 1: looks like column names"),
        ("\nplausible\timplausible \nWe sat .\tSat we .\n", ", line 2: looks like column names"),
    ],
)
def test_a_file_of_anything_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "pairs.tsv").write_text(text)
    with pytest.raises(ValueError, match=rf"pairs\.tsv{message}"):
        list(read_pairs(tmp_path / "pairs.tsv"))
    if "names" in message:
        assert list(read_pairs(tmp_path / "pairs.tsv", as_text=True))


def test_the_command_prints_accuracies_and_writes_the_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pairs.tsv").write_text("a b\tb a\nb a\ta b\n")
    output = tmp_path / "out.tsv"
    output.write_text("an earlier table, which is replaced")
    command = ["surprisal", str(write_toy(tmp_path / "model")), str(tmp_path / "pairs.tsv"), "--pairs"]
    assert main([*command, "-o", str(output)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:3] for row in rows[1:4]] == [[name, "1", "2"] for name in ("forward", "backward", "both")]
    names, first, second = (line.split("\t") for line in output.read_text().splitlines())
    assert names[:4] == ["pair_id", "forward_good", "forward_bad", "forward_right"] and len(names) == 10
    assert first[1] == second[2] and {first[3], second[3]} == {"0", "1"}


def test_two_sentences_of_a_pair_are_no_reason_to_warn(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("The cats sleep.\tThe cats sleeps.\n" * 9)
    with warnings.catch_warnings(action="error"):
        assert len(list(read_pairs(tmp_path / "pairs.tsv", raw_text=True))) == 9
