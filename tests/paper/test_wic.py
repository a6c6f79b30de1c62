"""Words in context: pairs of Word in Context with the best threshold, and Korean homonyms."""

import json
from pathlib import Path

import numpy as np
import pytest

from elmokit.analysis.polysemes import Occurrence, words_of
from elmokit.elmo.elmo import Elmo
from paper.homonyms import measure_homonyms, of_one_form, read_homonyms
from paper.wic import Pair, best_threshold, read_kobest_wic, read_wic
from toy_bilm import random_bilm

ROWS = "bank\tN\t1-1\tthe bank loans\ta bank loans\nbank\tN\t0-1\tbank flooded\tmy bank loans\n"
HEADER = "ID\tSENTENCE1\tSENTENCE2\tANSWER\n"


def wic(folder: Path, data: str = ROWS, gold: str = "T\nF\n") -> list[Pair]:
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
        (ROWS, "T\nF\nT\n", "has 3 answers, and .* has 2 pairs"),
        (ROWS.replace("1-1", "1"), "T\nF\n", "line 1.*has '1'; expected the indices of two tokens"),
    ],
)
def test_a_strange_line_is_refused(tmp_path: Path, data: str, gold: str, message: str):
    with pytest.raises(ValueError, match=message):
        wic(tmp_path, data, gold)


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
def test_the_threshold_lies_between_the_pairs_that_it_parts(
    cosines: list[float], is_same: list[bool], threshold: float
):
    assert best_threshold(np.array(cosines), np.array(is_same)) == pytest.approx(threshold)


TRAIN = [
    ("눈", "eye", "나는 눈이 나쁘다 ."),
    ("눈", "eye", "그는 눈을 감았다 ."),
    ("눈", "snow", "어제 눈이 왔다 ."),
    ("말", "horse", "흰 말을 탔다 ."),
    ("말", "speech", "긴 말을 했다 ."),
]
TEST = [
    ("눈", "eye", "오른쪽 눈이 아프다 ."),
    ("눈", "eye", "아이가 눈을 떴다 ."),
    ("눈", "snow", "아이가 눈을 뭉쳤다 ."),
    ("말", "speech", "그 말을 믿었다 ."),
]


def written(path: Path, rows: list[tuple[str, str, str]]) -> Path:
    lines: list[str] = []
    for word, sense, text in rows:
        tokens = text.split()
        index = next(index for index, token in enumerate(tokens) if token.startswith(word))
        lines.append(json.dumps({"word": word, "sense": sense, "index": index, "tokens": tokens}, ensure_ascii=False))
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def halves(tmp_path: Path) -> tuple[list[Occurrence], list[Occurrence]]:
    train, test = written(tmp_path / "train.jsonl", TRAIN), written(tmp_path / "test.jsonl", TEST)
    return read_homonyms(train), read_homonyms(test)


@pytest.fixture(scope="module")
def elmo() -> Elmo:
    return Elmo(random_bilm())


def test_a_word_is_the_noun_and_the_token_the_noun_with_its_particle(halves: tuple[list[Occurrence], list[Occurrence]]):
    train, _ = halves
    assert words_of(train) == ["눈", "말"]
    assert train[1] == Occurrence("눈", "noun/noun", "eye", 1, ("그는", "눈을", "감았다", "."))


def test_a_static_vector_sees_nothing_but_the_particle(elmo: Elmo, halves: tuple[list[Occurrence], list[Occurrence]]):
    """눈이 is tied between eye and snow; 눈을 is an eye in train; 말을 is tied."""
    measured = {one.name: one for one in measure_homonyms(elmo, *halves)}
    assert list(measured) == ["chance", "static vector", "bag of context words", "lstm1", "lstm2", "average"]
    assert measured["static vector"].nearest.tolist() == [0.5, 1, 0, 0.5]
    assert measured["chance"].nearest == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 2])
    assert all(len(one.nearest) == len(TEST) for one in measured.values())


def test_of_one_form_a_static_vector_is_at_chance(elmo: Elmo, halves: tuple[list[Occurrence], list[Occurrence]]):
    train, test = of_one_form(*halves)
    assert [(one.word, one.sense) for one in test] == [("눈이", "eye"), ("말을", "speech")]  # 눈을: never snow in train
    measured = {one.name: one for one in measure_homonyms(elmo, train, test)}
    assert measured["static vector"].nearest.tolist() == measured["chance"].nearest.tolist() == [0.5, 0.5]


def test_a_sense_that_cannot_be_judged_is_refused(elmo: Elmo, halves: tuple[list[Occurrence], list[Occurrence]]):
    train, test = halves
    with pytest.raises(ValueError, match="the train half needs '눈' in the sense 'snow' and in another sense"):
        measure_homonyms(elmo, [one for one in train if one.sense != "snow"], test[2:3])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"word": "눈", "index": 0, "tokens": ["눈이"]}', "field sense: is missing"),
        ('{"word": "눈", "sense": "eye", "index": 0, "tokens": ["말이"]}', "field index: is 0, which is not"),
    ],
)
def test_a_line_that_is_something_else_is_named(tmp_path: Path, line: str, message: str):
    path = written(tmp_path / "train.jsonl", TRAIN[:1])
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(ValueError, match=f"train.jsonl, line 2: {message}"):
        read_homonyms(path)
