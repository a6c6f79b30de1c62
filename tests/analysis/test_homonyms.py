from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from elmokit.analysis.homonyms import as_record, measure_homonyms, of_one_form, read_homonyms, read_recorded
from elmokit.analysis.polysemes import Occurrence, words_of
from elmokit.analysis.polysemy import Rate
from elmokit.elmo.elmo import Elmo
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig

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
    torch.manual_seed(5)
    return Elmo(BiLM(BiLMConfig(filters=((1, 4), (3, 8)), character_dim=4, projection_dim=6, lstm_dim=16)))


def test_a_word_is_the_noun_and_the_token_the_noun_with_its_particle(
    halves: tuple[list[Occurrence], list[Occurrence]],
):
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
    with pytest.raises(ValueError, match="the train half needs '눈' in the sense 'eye' and in another sense"):
        measure_homonyms(elmo, [one for one in train if one.sense != "snow"], test[:1])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("눈", "line 2: is not valid JSON"),
        ("[1]", "line 2: holds a list; expected an object"),
        ('{"word": "눈", "index": 0, "tokens": ["눈이"]}', "line 2: field sense: is missing"),
        (
            '{"word": "눈", "sense": "eye", "index": 1, "tokens": ["눈이"]}',
            "line 2: field index: is 1, which is not the index of '눈'",
        ),
        (
            '{"word": "눈", "sense": "eye", "index": 0, "tokens": ["말이"]}',
            "line 2: field index: is 0, which is not the index of '눈'",
        ),
    ],
)
def test_a_line_that_is_something_else_is_named(tmp_path: Path, line: str, message: str):
    path = written(tmp_path / "train.jsonl", TRAIN[:1])
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(ValueError, match=f"train.jsonl, {message}"):
        read_homonyms(path)


def test_what_is_recorded_is_read_back(tmp_path: Path):
    rates = {"chance": Rate(90.5, 272, guessed=True), "lstm1": Rate(231.0, 272)}
    assert read_recorded(tmp_path) is None
    (tmp_path / "measurements.json").write_text('{"other": 1, "command": "x"}', encoding="utf-8")
    assert read_recorded(tmp_path) is None
    text = json.dumps({"homonym_ko": as_record(rates), "command": "python bundle.py"})
    (tmp_path / "measurements.json").write_text(text, encoding="utf-8")
    recorded = read_recorded(tmp_path)
    assert recorded is not None and recorded.rates == rates and recorded.same_form == {}
    assert recorded.path == tmp_path / "measurements.json" and recorded.command == "python bundle.py"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ('{"homonym_ko": {}}', "command.*missing"),
        ('{"command": "", "homonym_ko": {"lstm1": 0.8}}', "homonym_ko.lstm1.*expected an object"),
        ('{"command": "", "homonym_ko": {"lstm1": {"total": 2}}}', "homonym_ko.lstm1.hits.*missing"),
        ('{"command": "", "homonym_ko": {"lstm1": {"hits": 3, "total": 2}}}', "hits.*expected 0 to 2"),
        ('{"command": "", "homonym_ko": {"lstm1": {"hits": 0, "total": 0}}}', "total.*expected 1"),
    ],
)
def test_measurements_that_cannot_be_read_are_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "measurements.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_recorded(tmp_path)
