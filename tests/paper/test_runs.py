"""Runs read back by name, and results: what the plan names is found, and what does not fit is refused or left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import elmokit
from elmokit.runs.logged_runs import read_runs, write_runs
from paper import table2
from paper.plan import ELMO, NO_ELMO, Arm
from paper.results import append_result, read_results
from paper.runs import gain_text, measured_on, read_evidence
from toy_planned_runs import SETUP, evidence_in, write_arm

NER = "named-entities"


def test_an_arm_has_the_scores_of_its_runs_by_seed(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80, 82), test=(70, 73))
    found = evidence_in(tmp_path).arm(NER, NO_ELMO)
    assert found is not None
    assert found.by_seed() == {0: 80, 1: 82} and found.by_seed("eng.testb") == {0: 70, 1: 73}
    assert str(found.score()) == "81.00 ± 1.41" and found.score("other") is None


def test_a_gain_is_over_the_seeds_that_both_arms_have(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80, 82, 84))
    write_arm(tmp_path, NER, ELMO, (85, 86))
    evidence = evidence_in(tmp_path)
    none, elmo = evidence.arm(NER, NO_ELMO), evidence.arm(NER, ELMO)
    assert none is not None and elmo is not None
    one = replace(elmo, runs=elmo.runs[:1])
    assert (gain_text(none, one), gain_text(none, None)) == ("+5.00 (one seed)", None)
    assert (gain_text(none, elmo) or "").startswith("+4.50 [")
    words = "conll2003, 200 training examples, mini-en (01234567), 2 or 3 seeds"
    assert measured_on([none, elmo]) == words


def test_runs_that_the_plan_does_not_name_are_in_no_table(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80,))
    for arm in (Arm("", ("elmo.penalty=0.5",)), Arm("", ("elmo=none", "max_train_examples=20"))):
        write_arm(tmp_path, NER, arm, (90,))
    assert table2.TABLE.rows(evidence_in(tmp_path)) == []


def test_a_run_of_other_settings_or_another_bilm_under_a_planned_name_is_refused(tmp_path: Path):
    (run,) = write_arm(tmp_path, NER, Arm("", ("elmo.penalty=0.5",)), (90,))
    (planned,) = replace(SETUP, seeds=(0,)).runs(NER, ELMO)
    renamed = run.rename(run.with_name(planned.name))
    with pytest.raises(ValueError, match=r"holds a run with other settings \(inputs.elmo.penalty\)"):
        evidence_in(tmp_path).arm(NER, ELMO)
    config = renamed / "config.json"
    record = {**json.loads(config.read_text()), "elmo_fingerprint": "abcdef"}
    config.write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"other settings \(inputs.elmo.penalty, the biLM\)"):
        evidence_in(tmp_path).arm(NER, ELMO)


def test_arms_of_different_data_are_not_compared(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80, 81))
    write_arm(tmp_path, NER, ELMO, (85, 85), num_train=100)
    with pytest.raises(ValueError, match="are of different data, so they are not compared"):
        table2.TABLE.details(evidence_in(tmp_path))


def test_two_different_runs_of_one_name_are_refused_and_a_copy_is_one_run(tmp_path: Path):
    (run,) = write_arm(tmp_path / "here", NER, NO_ELMO, (80,))
    write_runs(read_runs([run]), tmp_path / "runs.jsonl")
    paths = [tmp_path / "here", tmp_path / "runs.jsonl"]
    assert list(read_evidence(SETUP, paths).runs) == [run.name]
    lines = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text(lines.replace('"seconds": 60.0', '"seconds": 61.0'))
    with pytest.raises(ValueError, match="are different runs of one name; give one of them"):
        read_evidence(SETUP, paths)


@pytest.mark.parametrize(("num_epochs", "is_converged"), [(9, True), (8, False)])
def test_a_run_that_has_not_recorded_it_has_converged_if_its_log_says_so(
    num_epochs: int, is_converged: bool, tmp_path: Path
):
    epochs = [(step, 50.0) for step in range(num_epochs)]
    (run,) = write_arm(tmp_path, NER, NO_ELMO, (80,), epochs=epochs)  # patience 8
    log = run / "metrics.jsonl"
    log.write_text(log.read_text().replace('"converged": true, ', ""))
    found = evidence_in(tmp_path).arm(NER, NO_ELMO)
    assert found is not None and found.is_converged == is_converged
    log.write_text(log.read_text().splitlines()[0] + "\n")
    assert evidence_in(tmp_path).arm(NER, NO_ELMO) is None  # a run that has not ended is passed over


def test_results_are_found_by_their_reproduction_in_folders_and_files_each_once(tmp_path: Path):
    append_result(tmp_path / "a", "table7", {"before": 100.0})
    append_result(tmp_path / "a", "table5", {"f1": 65.9})
    append_result(tmp_path / "b" / "inner", "table7", {"before": 50.0})
    found = read_results([tmp_path / "a", tmp_path / "b", tmp_path / "nothing"], "table7")
    assert [fields.number("before") for fields in found] == [100.0, 50.0]
    (one,) = read_results([tmp_path / "a", tmp_path / "a" / "results.jsonl"], "table5")
    assert one.number("f1") == 65.9 and one.text("version") == elmokit.__version__
    (tmp_path / "a" / "results.jsonl").write_text("nonsense\n{}\n")
    with pytest.raises(ValueError, match=r"results\.jsonl, line 1"):
        read_results([tmp_path / "a"], "table7")
