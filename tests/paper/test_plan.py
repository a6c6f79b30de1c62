"""The plan: names that say what a run is, runs that tables share, and the order of the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.tasks.all_tasks import TASKS, find_task
from paper import table1, table2, table3
from paper.data_folders import data_folder, unpacked
from paper.plan import CONVERGED, DATASETS, ELMO, NO_ELMO, RANDOM, SCALES, SIX_TASKS, Arm, cheapest_first
from paper.reproduction import REPRODUCTIONS, find_reproduction
from task_inputs import new_inputs
from toy_bilm import random_bilm
from toy_planned_runs import SETUP

ONE_SEED = replace(SETUP, seeds=(3,))
PLANS = [name for name in REPRODUCTIONS if find_reproduction(name).plan is not None]
SYMBOLS = {
    "named-entities": ["O", "B-PER"],
    "semantic-roles": ["O", "B-V", "B-ARG0"],
    "entailment": ["contradiction", "entailment", "neutral"],
    "sentiment": ["0", "1"],
}


def test_a_name_says_what_differs_from_the_recipe():
    def name(*settings: str, task: str = "semantic-roles", recipe: str = "", vectors: str = "") -> str:
        (run,) = ONE_SEED.runs(task, Arm("", settings, recipe, vectors))
        return run.name

    assert name() == name("elmo=input", "elmo.penalty=0.001") == "semantic-roles-cpu-elmo-01234567-3"
    assert name("elmo=none", "elmo.penalty=1") == "semantic-roles-cpu-none-3"
    assert name("elmo.penalty=1") == "semantic-roles-cpu-elmo-01234567-penalty.1.0-3"
    assert name("elmo=none", "train_share=0.1") == "semantic-roles-cpu-none-train_share.0.1-3"
    assert name("model.hidden_dim=7") == "semantic-roles-cpu-elmo-01234567-model.hidden_dim.7-3"
    assert name("elmo=none", recipe=CONVERGED) == "semantic-roles-cpu-cpu-converged-none-3"
    assert name(vectors=RANDOM) == "semantic-roles-cpu-elmo-random-01234567-3"
    assert name(vectors="MiniLM-L6") == "semantic-roles-cpu-elmo-MiniLM-L6-3"
    assert name(task="named-entities-ko") == "named-entities-ko-cpu-elmo-01234567-3"


@pytest.mark.parametrize("scale", SCALES)
def test_a_plan_has_distinct_runs_under_distinct_names(scale: str):
    for name in PLANS:
        plan = find_reproduction(name).plan
        assert plan is not None
        runs = cheapest_first(plan(replace(SETUP, scale=SCALES[scale], seeds=(0,))))
        assert bool(runs) == (scale == "cpu" or name not in ("korean-tasks", "perplexity"))
        assert {run.task for run in runs} <= set(TASKS) and all(run.seconds > 0 for run in runs)
        configs = [(run.task, run.data, str(run.config), run.model) for run in runs]
        assert len(set(configs)) == len(configs)


@pytest.mark.slow
def test_every_planned_model_is_built_with_a_toy_bilm(tmp_path: Path):
    write_native(tmp_path / "tiny", to_stored(random_bilm()))
    built: set[str] = set()
    for plan in (find_reproduction(name).plan for name in PLANS):
        assert plan is not None
        for run in plan(replace(SETUP, seeds=(0,))):
            inputs = replace(run.config.inputs, word_vectors="", word_dim=4, train_word_vectors=True)
            if inputs.elmo is not None:
                inputs = replace(inputs, elmo=replace(inputs.elmo, model=str(tmp_path / "tiny")))
            if (settings := str((run.config.model, inputs))) not in built:
                made = new_inputs(inputs, [["the", "bank"]])
                assert list(find_task(run.task).build(run.config.model, made, SYMBOLS.get(run.task, [])).parameters())
                built.add(settings)
    assert len(built) > 50


def test_tables_share_the_runs_that_both_need_and_the_cheapest_come_first():
    runs = cheapest_first([*table2.TABLE.plan(SETUP), *table3.TABLE.plan(SETUP)])
    names = [run.name for run in runs]
    assert len(set(names)) == len(names) < len(table2.TABLE.plan(SETUP)) + len(table3.TABLE.plan(SETUP))
    seeds = [run.config.training.seed for run in runs]
    assert seeds == sorted(seeds)
    first = [run.seconds for run in runs if run.config.training.seed == 0]
    assert first == sorted(first)
    (run,) = cheapest_first([*ONE_SEED.runs("sentiment", ELMO), *ONE_SEED.runs("sentiment", ELMO, tests=True)])
    assert run.scores_tests  # as one of the tables wants them


def test_arms_of_another_recipe_are_planned_at_the_scale_cpu_alone():
    names = {run.name for run in table1.plan(replace(SETUP, scale=SCALES["paper"], seeds=(0,)))}
    assert f"sentiment-paper-{NO_ELMO.settings[0].partition('=')[2]}-0" in names
    assert all(name.split("-paper-")[1].startswith(("none", "elmo")) for name in names)


def test_a_run_that_ends_when_it_gets_no_better_is_estimated_by_the_steps_that_it_makes():
    def seconds(share: float, recipe: str = "") -> float:
        return ONE_SEED.runs("entailment", Arm("", (f"train_share={share}",), recipe))[0].seconds

    assert seconds(1) == pytest.approx(10 * seconds(0.1))
    assert seconds(1) < seconds(1, CONVERGED)
    assert seconds(0.001, CONVERGED) == seconds(0.01, CONVERGED) > 10 * seconds(0.01)


def test_every_task_has_data(tmp_path: Path):
    assert set(SIX_TASKS) == set(TASKS) == {dataset.task for dataset in DATASETS.values()}
    (tmp_path / "sst" / "sst").mkdir(parents=True)
    assert unpacked(tmp_path / "sst") == tmp_path / "sst" / "sst" == unpacked(tmp_path / "sst" / "sst")
    (tmp_path / "wic" / "HW2" / "WiC_dataset").mkdir(parents=True)
    assert data_folder(tmp_path, "wic", "HW2", "WiC_dataset") == tmp_path / "wic" / "HW2" / "WiC_dataset"
    assert data_folder(tmp_path, "sst", "HW2", "WiC_dataset") == tmp_path / "sst" / "sst"
