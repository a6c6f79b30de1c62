"""Words in context: pairs, the threshold that parts them best, and Korean homonyms of one form."""

from pathlib import Path

import numpy as np
import pytest

from elmokit.analysis.polysemes import Occurrence
from paper.polysemy_ko import of_one_form
from paper.wic import best_threshold, read_kobest_wic, read_wic

HEADER = "ID\tSENTENCE1\tSENTENCE2\tANSWER\n"


def test_korean_words_are_the_tokens_in_which_the_brackets_begin(tmp_path: Path):
    rows = "1\t단전과 [단수]의 고통.\t[단수]로 할지 본다.\tFALSE\n2\t괄호 없음\t[괄호] 있음\tTrue\n"
    (tmp_path / "x.tsv").write_text(HEADER + rows, encoding="utf-8")
    (pair,) = read_kobest_wic(tmp_path / "x.tsv")
    assert pair.tokens[0][pair.indices[0]] == "단수의" and pair.tokens[1][pair.indices[1]] == "단수로"
    assert not pair.is_same
    (tmp_path / "x.tsv").write_text(HEADER + "1\t[a]\t[a]\tmaybe\n")
    with pytest.raises(ValueError, match="line 2.*'maybe'; expected True or False"):
        read_kobest_wic(tmp_path / "x.tsv")


def test_damaged_pairs_are_named_by_file_and_line(tmp_path: Path):
    data, gold, line = tmp_path / "x.data.txt", tmp_path / "x.gold.txt", "go\tV\t1-0\tWe go .\tGo !\n"
    data.write_text(line * 2)
    gold.write_text("T\nF\n")
    assert [pair.is_same for pair in read_wic(data, gold)] == [True, False]
    cut = ("", "go\tV\t1-0\tWe", "go\tV\t1-2\tWe go .\tGo !", "go\tV\t1\ta\tb", "go V 1-0 a b")
    for second, answers in [*((each, "TF") for each in cut), (line, "T"), (line, "T?"), (line, "TFF")]:
        data.write_text(line + second)
        gold.write_text("\n".join(answers))
        with pytest.raises(ValueError, match=r"x\.data\.txt, line [23]: cannot be read; expected .* T or F in x\.gold"):
            read_wic(data, gold)


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


def occurrences(word: str, **senses: str) -> list[Occurrence]:
    """A sense for each sentence of two words, of which the first is meant."""
    return [Occurrence(word, "noun/noun", sense, 0, (*text.split(),)) for sense, text in senses.items()]


def test_forms_that_the_other_half_lacks_in_two_senses_are_left_out():
    train = [*occurrences("눈", eye="눈이 나쁘다", snow="눈이 왔다"), *occurrences("눈", eye="눈을 감았다")]
    train += occurrences("말", horse="말을 탔다", speech="말을 했다")
    test = [*occurrences("눈", eye="눈이 아프다", snow="눈을 뭉쳤다"), *occurrences("눈", eye="눈을 떴다")]
    known, asked = of_one_form(train, [*test, *occurrences("말", speech="말을 믿었다", end="말을 봤다")])
    assert [each.word for each in known] == ["눈이", "눈이", "눈을", "말을", "말을"]
    assert [(each.word, each.sense) for each in asked] == [("눈이", "eye"), ("말을", "speech")]
