"""The command that trains a run again gives its settings, read back by the command line's own rules."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from elmokit.runs.logged_runs import read_runs
from elmokit.tasks.all_tasks import task_recipe
from elmokit.tasks.task_runs import read_task_run
from logged_task_runs import make_run
from paper.planned_runs import flat_settings
from paper.train_command import train_command


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("named-entities", ()),
        ("named-entities", ("elmo=none", "seed=2")),
        ("sentiment", ("elmo=output", "elmo.layers=top", "elmo.rescale=false", "patience=1", "classifier=cnn")),
        ("entailment", ("elmo=both", "elmo.penalty=0.001", "character_filters=[[3, 20]]", "learning_rate=0.0003")),
    ],
)
def test_the_command_has_the_settings_of_the_run(task: str, settings: tuple[str, ...], tmp_path: Path):
    (logged,) = read_runs([make_run(tmp_path / "run", *settings, test=80, task=task)])
    run = read_task_run(logged)
    words = shlex.split(train_command(run))
    assert words[:5] == ["elmokit", "train", task, "--run", "RUN"]
    given = {option: words[words.index(option) + 1] for option in ("--recipe", "--elmo", "--seed")}
    changed = words[words.index("--set") + 1 :] if "--set" in words else []
    config = task_recipe(task, given["--recipe"], [f"elmo={given['--elmo']}", *changed, f"seed={run.seed}"])
    assert flat_settings(config) == flat_settings(run.record.config)
    assert given["--seed"] == "N" and not any(word.startswith("training.seed") for word in words)


def test_files_have_one_folder_and_the_test_file_is_named_if_it_was_scored(tmp_path: Path):
    vectors = "word_vectors=/far/away/glove.txt"
    scored, unscored = (
        read_task_run(run)
        for run in read_runs([make_run(tmp_path / name, vectors, test=test) for name, test in (("a", 80), ("b", None))])
    )
    files = "--train conll2003/eng.train --dev conll2003/eng.testa"
    assert f"{files} --test conll2003/eng.testb --recipe" in train_command(scored)
    assert f"{files} --recipe" in train_command(unscored)
    assert train_command(scored).endswith("--set inputs.word_vectors=glove.txt")
