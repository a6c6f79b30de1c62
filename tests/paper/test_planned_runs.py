"""Plans: names that say what a run is, runs that tables share, and the order of the work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.tasks.all_tasks import TASKS
from paper import figure1, table2, table3
from paper.all_reproductions import REPRODUCTIONS, find_reproduction
from paper.data_folders import data_folder, unpacked
from paper.planned_runs import PlannedModel, Setup, cheapest_first
from paper.scales import SCALES, TASK_DATA, find_scale

SETUP = Setup(SCALES["cpu"], Path("data"), "mini-en", "f00d", (0, 1))


def test_a_name_says_what_differs_from_the_recipe():
    def names(*settings: str, task: str = "semantic-roles", **more: object) -> list[str]:
        return [run.name for run in replace(SETUP, seeds=(3,)).runs(task, *settings, **more)]  # pyright: ignore

    assert names() == names("elmo=input", "elmo.penalty=0.001") == ["semantic-roles-cpu-elmo-f00d-3"]
    assert names("elmo=none", "elmo.penalty=1") == ["semantic-roles-cpu-none-3"]
    assert names("elmo.penalty=1") == ["semantic-roles-cpu-elmo-f00d-penalty.1.0-3"]
    assert names("elmo=none", "train_share=0.1") == ["semantic-roles-cpu-none-train_share.0.1-3"]
    assert names("model.hidden_dim=7") == ["semantic-roles-cpu-elmo-f00d-model.hidden_dim.7-3"]
    assert names("elmo=none", recipe="paper") == ["semantic-roles-cpu-paper-none-3"]
    random = PlannedModel("random", "mini-en", "f00d")
    assert names(model=random) == ["semantic-roles-cpu-elmo-random-f00d-3"]


def test_tables_share_the_runs_that_both_need_and_the_cheapest_come_first():
    runs = cheapest_first([*table2.plan(SETUP), *table3.plan(SETUP)])
    names = [run.name for run in runs]
    assert len(set(names)) == len(names) < len(table2.plan(SETUP)) + len(table3.plan(SETUP))
    seeds = [run.config.training.seed for run in runs]
    assert seeds == sorted(seeds)
    first = [run.seconds for run in runs if run.config.training.seed == 0]
    assert first == sorted(first)


def test_the_small_scale_stays_small_in_figure_1():
    shares = {
        scale: {run.config.training.train_share for run in figure1.plan(replace(SETUP, scale=SCALES[scale]))}
        for scale in SCALES
    }
    assert shares["small"] == {0.001, 0.01, 0.1} and shares["cpu"] == {0.001, 0.01, 0.1, 1.0}


def test_a_run_that_ends_when_it_gets_no_better_is_estimated_by_the_steps_that_it_makes():
    def seconds(share: float, **more: str) -> float:
        return replace(SETUP, seeds=(0,)).runs("entailment", f"train_share={share}", **more)[0].seconds

    assert seconds(1) == pytest.approx(10 * seconds(0.1))
    assert seconds(1) < seconds(1, recipe="cpu-converged")
    assert seconds(0.001, recipe="cpu-converged") == seconds(0.01, recipe="cpu-converged") > 10 * seconds(0.01)


def test_a_run_that_one_table_wants_test_scores_of_has_them():
    (run,) = cheapest_first(
        [*replace(SETUP, seeds=(0,)).runs("sentiment"), *replace(SETUP, seeds=(0,)).runs("sentiment", tests=True)]
    )
    assert run.scores_tests


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", [name for name in REPRODUCTIONS if find_reproduction(name).plan is not None])
def test_every_plan_has_distinct_runs_of_known_tasks_at_every_scale(name: str, scale: str):
    plan = find_reproduction(name).plan
    assert plan is not None
    runs = cheapest_first(plan(replace(SETUP, scale=SCALES[scale])))
    assert {run.task for run in runs} <= set(TASKS) and all(run.seconds > 0 for run in runs)
    configs = [(run.task, str(run.config), run.model) for run in runs]
    assert len(set(configs)) == len(configs)


def test_every_task_has_data_and_an_unknown_scale_is_refused(tmp_path: Path):
    assert set(TASK_DATA) == set(TASKS)
    with pytest.raises(ValueError, match="no scale 'cup'; did you mean cpu"):
        find_scale("cup")
    (tmp_path / "sst" / "sst").mkdir(parents=True)
    assert unpacked(tmp_path / "sst") == tmp_path / "sst" / "sst" == unpacked(tmp_path / "sst" / "sst")
    (tmp_path / "wic" / "HW2" / "WiC_dataset").mkdir(parents=True)
    assert data_folder(tmp_path, "wic", "HW2", "WiC_dataset") == tmp_path / "wic" / "HW2" / "WiC_dataset"
    assert data_folder(tmp_path, "sst", "HW2", "WiC_dataset") == tmp_path / "sst" / "sst"
