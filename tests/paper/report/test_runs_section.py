from __future__ import annotations

from pathlib import Path

from elmokit.report.pages import write_report
from logged_task_runs import make_run


def test_a_single_run_is_on_the_page_with_its_scores_and_why_it_is_not_compared(tmp_path: Path):
    run = make_run(tmp_path / "mine", "elmo=input", test=71.25, dev=80.5)
    page = write_report([run], tmp_path / "page")[0].read_text()
    assert "| mine | named-entities | conll2003 | mini-en (01234567) at input | f1 | 1 | 80.5 | 71.2 | 60 |" in page
    assert "### Not compared" in page and "no run without ELMo of the same data and settings" in page
    assert "To measure it again:" not in page


def test_the_mixes_of_a_single_run_are_on_the_page(tmp_path: Path):
    mixes = {"input": {"gamma": 0.5, "weights": [0.2, 0.3, 0.5]}, "output": {"gamma": 2.0, "weights": []}}
    runs = [make_run(tmp_path / "mine", "elmo=both", test=None, mixes=mixes)]
    runs += [make_run(tmp_path / "other", "elmo=input", "elmo.layers=top", test=None)]
    page = write_report(runs, tmp_path / "page")[0].read_text()
    assert "| mine | input | 0.20 0.30 0.50 | 0.50 |\n| mine | output | – | 2.00 |\n\n" in page
    assert "What the mixes" not in write_report(runs[1:], tmp_path / "page")[0].read_text()


def test_a_run_that_has_not_ended_has_its_best_score_so_far(tmp_path: Path):
    run = make_run(tmp_path / "mine", "elmo=none", test=None, dev=80.5, ended=False)
    page = write_report([run], tmp_path / "page")[0].read_text()
    assert "| mine | named-entities | conll2003 | no ELMo | f1 | – | 80.5 | – | – |" in page
    assert "has not ended" in page
