from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.cli.main import _parser
from elmokit.tasks.all_tasks import SHORT_NAMES, TASKS, find_task, task_recipe
from elmokit.tasks.config import Splits
from elmokit.tasks.default_recipe import config_and_data

KOREAN = "제인은 B-PS\n서울에 B-LC\n산다 O\n\n"
ENGLISH = "Jane B-PS\nlives O\nhere O\n\n"


def ner_splits(folder: Path, text: str) -> Splits:
    (folder / "train.conll").write_text(text * 3, encoding="utf-8")
    (folder / "dev.conll").write_text(text, encoding="utf-8")
    return Splits((folder / "train.conll",), (folder / "dev.conll",))


def pairs(folder: Path) -> Splits:
    (folder / "train.tsv").write_text("premise\thypothesis\tlabel\n비가 온다\t맑다\tcontradiction\n", encoding="utf-8")
    return Splits((folder / "train.tsv",), (folder / "train.tsv",))


def test_korean_data_is_read_with_the_korean_recipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config, data = config_and_data(find_task("ner"), ner_splits(tmp_path, KOREAN), None, ["max_epochs=3"])
    assert config == task_recipe("ner", "cpu-ko", ["max_epochs=3"])
    assert config.inputs.elmo is not None and config.inputs.elmo.model == "mini-ko"
    assert len(data.train) == 3
    assert "written in Hangul: the recipe is cpu-ko" in capsys.readouterr().err


def test_other_data_is_read_with_the_recipe_for_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config, _ = config_and_data(find_task("ner"), ner_splits(tmp_path, ENGLISH), None, [])
    assert config == task_recipe("ner")
    assert capsys.readouterr().err == ""


def test_a_task_without_a_korean_recipe_takes_the_korean_bilm_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    config, _ = config_and_data(find_task("nli"), pairs(tmp_path), None, [])
    assert config == task_recipe("nli", "cpu", ["elmo.model=mini-ko"])
    assert "those of mini-ko, unless --model, or elmo.model=M, says otherwise; entailment" in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["elmo=none", "elmo.model=other"])
def test_what_the_user_says_of_elmo_counts(tmp_path: Path, setting: str):
    config, _ = config_and_data(find_task("nli"), pairs(tmp_path), None, [setting])
    assert config == task_recipe("nli", "cpu", [setting])


def test_a_config_is_left_as_it_is(tmp_path: Path):
    config = task_recipe("ner", "cpu")
    assert config_and_data(find_task("ner"), ner_splits(tmp_path, KOREAN), config, [])[0] == config
    with pytest.raises(ValueError, match="settings change the recipe of a task; with a config, change the config"):
        config_and_data(find_task("ner"), ner_splits(tmp_path, KOREAN), config, ["seed=1"])


def test_the_config_of_another_task_is_refused(tmp_path: Path):
    with pytest.raises(
        ValueError, match="is not of named-entities: its model is a SentimentConfig; expected a NamedEn"
    ):
        config_and_data(find_task("ner"), ner_splits(tmp_path, ENGLISH), task_recipe("sentiment"), [])


def test_a_korean_recipe_that_reads_fewer_examples_does_so(tmp_path: Path):
    rows = [f"좋은 영화 {number}\t1\n" for number in range(5)]
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "".join(rows), encoding="utf-8")
    splits = Splits((tmp_path / "train.tsv",), (tmp_path / "train.tsv",))
    config, data = config_and_data(find_task("sst"), splits, None, ["max_train_examples=2"])
    assert config.inputs.elmo is not None and config.inputs.elmo.model == "mini-ko"
    assert (len(data.train), len(data.dev)) == (2, 5)


def test_each_task_has_a_short_name_in_any_case():
    assert list(SHORT_NAMES.values()) == list(TASKS)
    assert [find_task(short.upper()).name for short in SHORT_NAMES] == list(TASKS)
    assert find_task("named_entities").name == "named-entities"
    with pytest.raises(ValueError, match=r"no task 'nerr'; did you mean ner\? the tasks are named-entities \(ner\), "):
        find_task("nerr")


def test_a_task_without_a_short_name_is_named_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(TASKS, "parsing", "elmokit.tasks.parsing.task")
    with pytest.raises(ValueError, match=r"no task 'nothing'; .*sentiment \(sst\), parsing$"):
        find_task("nothing")


def test_help_names_all_tasks_and_all_recipes(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        _parser().parse_args(["train", "--help"])
    shown = "".join(capsys.readouterr().out.split())  # lines are broken at hyphens
    recipes = {recipe for name in TASKS for recipe in find_task(name).recipes}
    assert all(name in shown for name in (*TASKS, *SHORT_NAMES, *recipes))
