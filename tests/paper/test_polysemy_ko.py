"""Korean homonyms: read from JSON lines, and compared among words of one form."""

import json
from pathlib import Path

import pytest

from elmokit.analysis.polysemes import Occurrence
from paper.polysemy_ko import of_one_form, read_homonyms


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


def test_occurrences_are_read_and_a_line_that_is_something_else_is_named(tmp_path: Path):
    line = {"word": "눈", "sense": "eye", "index": 1, "tokens": ["그는", "눈을", "감았다"]}
    (tmp_path / "train.jsonl").write_text(text := json.dumps(line) + "\n")
    expected = Occurrence("눈", "noun/noun", "eye", 1, ("그는", "눈을", "감았다"))
    assert read_homonyms(tmp_path / "train.jsonl") == [expected]
    (tmp_path / "train.jsonl").write_text(text + text.replace("sense", "of"))
    with pytest.raises(ValueError, match="train.jsonl, line 2: field sense: is missing"):
        read_homonyms(tmp_path / "train.jsonl")
