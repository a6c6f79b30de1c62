"""What ELMo adds on the test set of a task: which test set counts, and what its interval is over."""

from __future__ import annotations

from pathlib import Path

from logged_task_runs import make_run, make_seeds
from paper.results import append_result
from paper.task_gains import task_gains


def test_the_interval_is_over_test_items_where_that_was_measured(tmp_path: Path):
    runs = make_seeds(tmp_path / "runs")
    gain = task_gains([runs], [tmp_path])["named-entities"]
    assert (gain.row, gain.test_set, gain.points, gain.over) == ("NER", "eng.testb", 4, "seeds")
    assert str(gain.interval) == "+4.00 [1.52, 6.48]"
    names = {"task": "named-entities", "data": "conll2003", "test_set": "eng.testb", "model": "mini-en (01234567)"}
    arms = {arm: [f"ner-{name}-{seed}" for seed in range(3)] for arm, name in (("baseline", "none"), ("elmo", "input"))}
    interval = {"estimate": 4.0, "low": 3.0, "high": 5.0}
    append_result(tmp_path, "table1", {**names, **arms, "interval": interval, "ensembles": {}})
    gain = task_gains([runs], [tmp_path])["named-entities"]
    assert (str(gain.interval), gain.over) == ("+4.00 [3.00, 5.00]", "test items")


def test_a_single_seed_has_no_interval(tmp_path: Path):
    for arm, score in (("none", 80), ("input", 84)):
        make_run(tmp_path / arm, f"elmo={arm}", test=score)
    gain = task_gains([tmp_path], [])["named-entities"]
    assert (gain.points, gain.interval) == (4, None)


def test_of_several_test_files_the_one_that_the_paper_has_counts(tmp_path: Path):
    for arm, score in (("none", 80), ("input", 84)):
        log = make_run(tmp_path / arm, f"elmo={arm}", test=score) / "metrics.jsonl"
        log.write_text(log.read_text().replace('"test": {', '"test": {"eng.testa": {"f1": 10.0}, '))
    assert task_gains([tmp_path], [])["named-entities"].points == 4
