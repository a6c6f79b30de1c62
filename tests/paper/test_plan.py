"""The plan: runs that tables share, the order of the work; and what `python -m paper` refuses before it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elmokit.layers.devices import on_meta_device
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.word_table import new_word_table
from paper import table2, table3
from paper.__main__ import main
from paper.plan import ELMO, SCALES, distinct_runs
from paper.reproduction import REPRODUCTIONS, find_reproduction
from task_examples import EXAMPLES
from toy_bilm import random_bilm
from toy_planned_runs import SETUP

PLANS = [name for name in REPRODUCTIONS if find_reproduction(name).plan is not None]


@pytest.mark.parametrize("scale", SCALES)
def test_a_plan_has_distinct_runs_under_distinct_names_of_models_that_can_be_built(scale: str):
    built: set[str] = set()
    for name in PLANS:
        plan = find_reproduction(name).plan
        assert plan is not None
        runs = distinct_runs(plan(replace(SETUP, scale=SCALES[scale], seeds=(0,))))
        assert bool(runs) == (scale == "cpu" or name not in ("korean-tasks", "perplexity"))
        configs = [(run.task, run.data, str(run.config), run.model) for run in runs]
        assert len(set(configs)) == len(configs)
        for run in runs:
            config = replace(run.config.inputs, word_vectors="", word_dim=4, train_word_vectors=True)
            if (settings := str((run.config.model, config))) not in built:
                words = new_word_table(config, [["the", "bank"]], [], seed=0)
                task = find_task(run.task)
                with on_meta_device():
                    inputs = TokenInputs(config, words=words, elmo=None if config.elmo is None else random_bilm())
                    model = task.build(run.config.model, inputs, task.symbols(EXAMPLES[run.task].examples))
                assert list(model.parameters())
                built.add(settings)
    assert len(built) > 10


def test_tables_share_the_runs_that_both_need_and_the_first_seeds_come_first():
    planned = [*table2.TABLE.plan(SETUP), *table3.TABLE.plan(SETUP)]
    runs = distinct_runs(planned)
    names = [run.name for run in runs]
    assert len(set(names)) == len(names) < len(planned)
    seeds = [run.config.training.seed for run in runs]
    assert seeds == sorted(seeds)
    twice = [replace(SETUP, seeds=(3,)).runs("sentiment", ELMO, tests=tests)[0] for tests in (False, True, False)]
    (run,) = distinct_runs(twice)
    assert run.scores_tests  # as one of the tables wants them


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tabel1"], "no reproduction 'tabel1'; did you mean table1?"),
        (["train", "table1", "tabel2"], "tabel2: `train` takes the names of tables alone; give runs with --finished"),
        (["train", "wic"], "wic: no runs are trained for it; `python -m paper NAME` measures it"),
        (["train", "table1", "--jobs", "0"], "0 jobs; expected at least 1"),
        (["train", "table1", "--seeds", "0"], "0 seeds; expected at least 1"),
        (["table2", ".", "--model", "a", "--model", "b"], "2 models; table2 is made of training runs, which take one"),
        (["wic", ".", "--model", "mini-en"], "give either the paths of results or the models to measure, not both"),
        (["table2", "--results", "none"], "none have no runs of `python -m paper train table2`"),
        (["table5", "--data", "none", "--results", "r"], "wsd_raganato: there is no such folder; CONTRIBUTING.md"),
        *(([*verb, "-o", "file"], "is not a folder; choose another") for verb in (["table1"], ["wic"], ["page", "."])),
    ],
)
def test_what_cannot_be_made_is_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: Any, monkeypatch: Any
):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert Path("file").read_text() == "mine"


def test_the_plan_is_listed_with_all_missing_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = ["--seeds", "1", "--data", str(tmp_path), "--results", str(tmp_path / "runs")]
    assert main(["train", "figure2", "table3", *given, "--dry-run"]) == 2
    listed = capsys.readouterr()
    *runs, total = listed.out.splitlines()
    assert total == f"{len(runs)} of {len(runs)} runs are not finished"
    assert sum("-none-" in run for run in runs) == 5 and any("sentiment-cpu-elmo-" in run for run in runs)
    for missing in ("conll2003: there is no such folder", "sst: there", "glove.6B.50d.100k.txt.gz: there is no such"):
        assert missing in listed.err
    assert "CONTRIBUTING.md (Data) says where" in listed.err
    assert main(["train", "figure2", "table3", *given]) == 2  # before the first run
    assert capsys.readouterr().err == listed.err and not (tmp_path / "runs").exists()
