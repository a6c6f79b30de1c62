"""Word in Context: both layouts, the best threshold computed by hand, and vectors that know the context."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from paper.probes.word_in_context import best_threshold, read_kobest_wic, read_wic, score_wic
from toy_senses import CueLayers

ROWS = "bank\tN\t1-1\tthe bank loans\ta bank loans\nbank\tN\t0-1\tbank flooded\tmy bank loans\n"


def wic(folder: Path, data: str = ROWS, gold: str = "T\nF\n"):
    (folder / "x.data.txt").write_text(data)
    (folder / "x.gold.txt").write_text(gold)
    return read_wic(folder / "x.data.txt", folder / "x.gold.txt")


def test_pairs_have_their_tokens_and_answer(tmp_path: Path):
    first, second = wic(tmp_path)
    assert first.tokens == (["the", "bank", "loans"], ["a", "bank", "loans"]) and first.is_same
    assert second.indices == (0, 1) and not second.is_same


@pytest.mark.parametrize(
    ("data", "gold", "message"),
    [
        ("bank\tN\t1-1\tonly one\n", "T\n", "line 1.*expected word"),
        (ROWS, "T\n", "line 2.*T or F"),
        (ROWS, "T\nperhaps\n", "line 2.*T or F"),
        (ROWS, "T\nF\nT\n", "has 3 answers, and .* has 2 pairs"),
        (ROWS.replace("1-1", "1"), "T\nF\n", "line 1.*two numbers"),
        (ROWS.replace("1-1", "1-7"), "T\nF\n", "line 1.*index 1-7, but 3 and 3 tokens"),
    ],
)
def test_a_strange_line_is_refused(tmp_path: Path, data: str, gold: str, message: str):
    with pytest.raises(ValueError, match=message):
        wic(tmp_path, data, gold)


def test_korean_words_are_the_tokens_in_which_the_brackets_begin(tmp_path: Path):
    rows = [
        ["1", "단수", "단전과 [단수]의 고통.", "[단수]로 할지 본다.", "FALSE"],
        ["2", "x", "괄호 없음", "[괄호] 있음", "True"],
    ]
    header = ["ID", "Target", "SENTENCE1", "SENTENCE2", "ANSWER"]
    (tmp_path / "x.tsv").write_text("\n".join("\t".join(row) for row in [header, *rows]), encoding="utf-8")
    (pair,) = read_kobest_wic(tmp_path / "x.tsv")
    assert pair.tokens[0][pair.indices[0]] == "단수의" and pair.tokens[1][pair.indices[1]] == "단수로"
    assert not pair.is_same


def test_another_answer_than_true_or_false_is_refused(tmp_path: Path):
    (tmp_path / "x.tsv").write_text("SENTENCE1\tSENTENCE2\tANSWER\n[a]\t[a]\tmaybe\n")
    with pytest.raises(ValueError, match="line 2.*'maybe'; expected True or False"):
        read_kobest_wic(tmp_path / "x.tsv")


def test_the_threshold_lies_between_the_pairs_that_it_parts():
    assert best_threshold(np.array([0.9, 0.1, 0.5, 0.3]), np.array([True, False, True, False])) == pytest.approx(0.4)
    assert best_threshold(np.array([0.5, 0.5]), np.array([True, True])) == -np.inf
    assert best_threshold(np.array([0.5, 0.7]), np.array([False, False])) == np.inf
    assert best_threshold(np.array([0.5, 0.5, 0.5]), np.array([True, False, False])) == np.inf  # cannot be parted
    alternating = np.array([False, True, False, True])  # three are right from 0.4 on, and from 0.8 on
    assert best_threshold(np.array([0.2, 0.4, 0.6, 0.8]), alternating) == pytest.approx(0.3)


def test_layers_that_know_the_context_are_right(tmp_path: Path):
    pairs = wic(tmp_path) * 3
    scores = score_wic(CueLayers(), train=pairs, dev=pairs, test=pairs[:2])
    assert (scores["layer 2"].train, scores["layer 2"].test, scores["layer 2"].hits) == (100, 100, (True, True))
    assert scores["layer 0"].dev == 50
