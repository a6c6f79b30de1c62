"""Words in context: pairs, and the threshold that parts them best."""

from pathlib import Path

import numpy as np
import pytest

from paper.wic import best_threshold, read_kobest_wic, read_wic

ROWS = "bank\tN\t1-1\tthe bank loans\ta bank loans\nbank\tN\t0-1\tbank flooded\tmy bank loans\n"
HEADER = "ID\tSENTENCE1\tSENTENCE2\tANSWER\n"


def test_pairs_have_their_tokens_and_answer(tmp_path: Path):
    (tmp_path / "x.data.txt").write_text(ROWS)
    (tmp_path / "x.gold.txt").write_text("T\nF\n")
    first, second = read_wic(tmp_path / "x.data.txt", tmp_path / "x.gold.txt")
    assert first.tokens == (["the", "bank", "loans"], ["a", "bank", "loans"]) and first.is_same
    assert second.indices == (0, 1) and not second.is_same


def test_korean_words_are_the_tokens_in_which_the_brackets_begin(tmp_path: Path):
    rows = "1\t단전과 [단수]의 고통.\t[단수]로 할지 본다.\tFALSE\n2\t괄호 없음\t[괄호] 있음\tTrue\n"
    (tmp_path / "x.tsv").write_text(HEADER + rows, encoding="utf-8")
    (pair,) = read_kobest_wic(tmp_path / "x.tsv")
    assert pair.tokens[0][pair.indices[0]] == "단수의" and pair.tokens[1][pair.indices[1]] == "단수로"
    assert not pair.is_same
    (tmp_path / "x.tsv").write_text(HEADER + "1\t[a]\t[a]\tmaybe\n")
    with pytest.raises(ValueError, match="line 2.*'maybe'; expected True or False"):
        read_kobest_wic(tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("cosines", "is_same", "threshold"),
    [
        ([0.9, 0.1, 0.5, 0.3], [True, False, True, False], 0.4),
        ([0.5, 0.5], [True, True], -np.inf),
        ([0.5, 0.7], [False, False], np.inf),
        ([0.5, 0.5, 0.5], [True, False, False], np.inf),  # equal cosines cannot be parted
        ([0.2, 0.4, 0.6, 0.8], [False, True, False, True], 0.3),  # three are right from 0.4 on, and from 0.8 on
    ],
)
def test_the_threshold_lies_between_the_pairs(cosines: list[float], is_same: list[bool], threshold: float):
    assert best_threshold(np.array(cosines), np.array(is_same)) == pytest.approx(threshold)
