"""Families of runs: arms by the settings that vary, seeds paired, and what is left out of them."""

from __future__ import annotations

from pathlib import Path

from elmokit.runs.logged_runs import read_runs
from logged_task_runs import make_run
from paper.families import (
    families,
    gain_text,
    gains_by_seed,
    is_usual,
    largest_families,
    read_task_runs,
    usual_runs,
)

LAMBDA = ("inputs.elmo.layers", "inputs.elmo.penalty")


def test_arms_are_found_by_the_settings_that_vary_and_the_rest_is_shared(tmp_path: Path):
    for seed, (none, top, mixed) in enumerate([(80.0, 81.0, 82.0), (80.0, 82.0, 84.0)]):
        make_run(tmp_path / f"none-{seed}", "elmo=none", f"seed={seed}", test=1, dev=none)
        make_run(tmp_path / f"top-{seed}", "elmo.layers=top", "elmo.penalty=5", f"seed={seed}", test=1, dev=top)
        make_run(tmp_path / f"mix-{seed}", "elmo.penalty=0.001", f"seed={seed}", test=1, dev=mixed)
        make_run(tmp_path / f"other-{seed}", "elmo.dropout_rate=0.4", f"seed={seed}", test=1)
    make_run(tmp_path / "unfinished", "elmo.penalty=1", test=1, ended=False)
    first, second = families(read_task_runs([tmp_path]), LAMBDA)
    assert set(first.arms) == {("mix", 0.001), ("top", None)} and set(second.arms) == {("mix", 0.1)}
    assert first.row == "NER" and first.metric == "f1"
    assert first.measured_on() == "conll2003, 14,041 training examples, mini-en (01234567), 2 seeds"
    top, mixed = first.arms["top", None], first.arms["mix", 0.001]
    assert gains_by_seed(top, mixed, "f1") == {0: 1, 1: 2}
    assert gain_text(top, mixed, "f1") == "+1.50 [-4.85, 7.85]"  # 12.706 times 0.5 to either side
    assert gain_text(top, None, "f1") is None
    assert first.baselines.keys() == second.baselines.keys() == {()}


def test_a_larger_family_of_unusual_settings_counts_where_there_is_no_other(tmp_path: Path):
    places = ("inputs.elmo.position",)
    for seed in (0, 1):
        make_run(tmp_path / f"top-{seed}", "elmo.layers=top", f"seed={seed}", test=1)
    (top,) = largest_families(families(read_task_runs([tmp_path]), places))
    assert top.unusual == ("layers top",)
    make_run(tmp_path / "usual", test=1)
    (usual,) = largest_families(families(read_task_runs([tmp_path]), places))
    assert usual.unusual == () and usual.measured_on().endswith("1 seed")


def test_vectors_of_another_system_are_no_elmo(tmp_path: Path):
    make_run(tmp_path / "elmo", test=1)
    make_run(tmp_path / "cove", "elmo.model=CoVe.npy", test=1, other_vectors=True)
    (family,) = families(read_task_runs([tmp_path]), ("inputs.elmo.model",))
    assert set(family.arms) == {("mini-en",)}
    assert [run.name for run in usual_runs(read_runs([tmp_path]))] == ["elmo"]


def test_settings_that_both_arms_have_vary_for_the_baseline_too(tmp_path: Path):
    for share in (0.1, 1.0):
        for arm in ("none", "input"):
            make_run(tmp_path / f"{arm}-{share}", f"elmo={arm}", f"train_share={share}", test=1)
    (family,) = families(read_task_runs([tmp_path]), ("training.train_share",))
    assert set(family.arms) == set(family.baselines) == {(0.1,), (1.0,)}


def test_usual_runs_have_the_recipes_elmo_and_a_pretrained_model(tmp_path: Path):
    for name, settings in {
        "none": ("elmo=none",),
        "as-in-the-recipe": (),
        "other-penalty": ("elmo.penalty=1",),
        "random": ("elmo.model=/models/random-0123",),
    }.items():
        make_run(tmp_path / name, *settings, test=1)
    assert [run.name for run in usual_runs(read_runs([tmp_path]))] == ["as-in-the-recipe", "none"]
    assert sum(map(is_usual, read_task_runs([tmp_path]))) == 2
