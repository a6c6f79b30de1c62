from __future__ import annotations

import pytest

from elmokit.cli.main import _parser
from elmokit.tasks.all_tasks import SHORT_NAMES, TASKS, find_task


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
