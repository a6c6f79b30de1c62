"""A user's own runs of tasks: what is in one table, and what ELMo brings there."""

from __future__ import annotations

from pathlib import Path

from elmokit.report.pages import write_report
from logged_task_runs import make_run, make_seeds


def page_of(folder: Path, output: Path) -> str:
    (page,) = write_report([folder], output)
    return page.read_text(encoding="utf-8")


def test_the_gain_is_over_the_runs_without_elmo_seed_by_seed(tmp_path: Path):
    page = page_of(make_seeds(tmp_path / "runs"), tmp_path / "page")
    assert page.count("## ") == 1 and "## named-entities, conll2003, 14,041 training examples" in page
    assert "| no ELMo | 0, 1, 2 | 83.00 ± 2.00 | – | 82.00 ± 2.00 | – |" in page
    elmo = "| mini-en (01234567) at input | 0, 1, 2 | 87.00 ± 1.73 | +4.00 \\[1.52, 6.48\\] | 86.00 ± 1.73 | +4.00"
    assert elmo in page  # gains of 5, 3 and 4: 4 ± 4.303 * 1 / sqrt(3)
    assert "| ner-input-1 | input | 0.20 0.40 0.40 | 2.00 |" in page


def test_runs_of_other_data_or_settings_have_a_table_of_their_own(tmp_path: Path):
    make_run(tmp_path / "runs" / "none", "elmo=none", test=80.0)
    make_run(tmp_path / "runs" / "elmo", "elmo=input", test=85.0, num_train=100)
    make_run(tmp_path / "runs" / "long", "elmo=input", "max_epochs=99", test=86.0)
    page = page_of(tmp_path / "runs", tmp_path / "page")
    assert page.count("## named-entities") == 3 and "+" not in page


def test_settings_that_the_recipe_does_not_have_tell_arms_apart(tmp_path: Path):
    make_run(tmp_path / "runs" / "all", "elmo=input", test=85.0)
    make_run(tmp_path / "runs" / "top", "elmo=input", "elmo.layers=top", test=86.0, converged=False)
    page = page_of(tmp_path / "runs", tmp_path / "page")
    assert "| mini-en (01234567) at input | 0 |" in page
    assert "| mini-en (01234567) at input, layers top (still improving) | 0 |" in page


def test_a_run_that_has_not_ended_has_its_best_score_so_far(tmp_path: Path):
    page = page_of(make_run(tmp_path / "mine", "elmo=none", test=None, dev=80.5, ended=False), tmp_path / "page")
    assert "| not finished | best f1 so far |\n|---|---:|\n| mine | 80.5 |" in page
