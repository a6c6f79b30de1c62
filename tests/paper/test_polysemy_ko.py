"""Korean homonyms: the nearest occurrence in the train half, with the particle and without its help."""

import json
from pathlib import Path

import pytest

from elmokit.analysis.polysemes import Occurrence
from elmokit.analysis.polysemy import measure_senses
from elmokit.elmo.elmo import Elmo
from paper.polysemy_ko import of_one_form, read_homonyms
from toy_bilm import random_bilm

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


def nearest(train: list[Occurrence], test: list[Occurrence]) -> dict[str, list[float]]:
    encoded = Elmo(random_bilm()).encode([each.tokens for each in (*train, *test)], layers="all")
    return {one.name: one.nearest.tolist() for one in measure_senses(encoded, [*train, *test], num_known=len(train))}


def test_a_static_vector_sees_nothing_but_the_particle(halves: tuple[list[Occurrence], list[Occurrence]]):
    """눈이 is tied between eye and snow; 눈을 is an eye in train; 말을 is tied."""
    assert halves[0][1] == Occurrence("눈", "noun/noun", "eye", 1, ("그는", "눈을", "감았다", "."))
    measured = nearest(*halves)
    assert measured["static vector"] == [0.5, 1, 0, 0.5]
    assert measured["chance"] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 2])
    train, test = of_one_form(*halves)  # where it is at chance
    assert [(one.word, one.sense) for one in test] == [("눈이", "eye"), ("말을", "speech")]  # 눈을: never snow in train
    measured = nearest(train, test)
    assert measured["static vector"] == measured["chance"] == [0.5, 0.5]


def test_a_line_that_is_something_else_is_named(tmp_path: Path):
    path = written(tmp_path / "train.jsonl", TRAIN[:1])
    with path.open("a", encoding="utf-8") as file:
        file.write('{"word": "눈", "index": 0, "tokens": ["눈이"]}\n')
    with pytest.raises(ValueError, match="train.jsonl, line 2: field sense: is missing"):
        read_homonyms(path)
