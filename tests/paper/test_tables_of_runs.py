"""Runs read back by name, and tables and figures measured from them: cells worked out by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import elmokit
from elmokit.formats.names import DEFAULT_MODEL
from elmokit.runs.logged_runs import read_runs, write_runs
from paper import table1, table2
from paper.bootstrap import item_records
from paper.plan import ELMO, NO_ELMO, Arm
from paper.results import append_result, read_results
from paper.runs import gain_text, measured_on, read_evidence, with_model
from toy_planned_runs import SETUP, evidence_in, write_arm

NER = "named-entities"


def test_a_gain_is_over_the_seeds_that_both_arms_have_of_the_same_data(tmp_path: Path):
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
    write_arm(tmp_path / "other", NER, NO_ELMO, (80, 81))
    write_arm(tmp_path / "other", NER, ELMO, (85, 85), num_train=100)
    with pytest.raises(ValueError, match="are of different data, so they are not compared"):
        table2.TABLE.details(evidence_in(tmp_path / "other"))


def test_runs_count_by_their_planned_names_and_settings_alone(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80,))
    write_arm(tmp_path, NER, Arm("", ("elmo=none", "max_train_examples=20")), (90,))
    (run,) = write_arm(tmp_path, NER, Arm("", ("elmo.penalty=0.5",)), (90,))
    assert table2.TABLE.rows(evidence_in(tmp_path)) == []  # the plan names one of them
    (planned,) = replace(SETUP, seeds=(0,)).runs(NER, ELMO)
    config = run.rename(run.with_name(planned.name)) / "config.json"
    with pytest.raises(ValueError, match=r"holds a run with other settings \(inputs.elmo.penalty\)"):
        evidence_in(tmp_path).arm(NER, ELMO)
    config.write_text(json.dumps({**json.loads(config.read_text()), "elmo_fingerprint": "abcdef"}))
    with pytest.raises(ValueError, match=r"other settings \(inputs.elmo.penalty, the biLM\)"):
        evidence_in(tmp_path).arm(NER, ELMO)


def test_two_different_runs_of_one_name_are_refused_and_a_copy_is_one_run(tmp_path: Path):
    (run,) = write_arm(tmp_path / "here", NER, NO_ELMO, (80,))
    write_runs(read_runs([run]), tmp_path / "runs.jsonl")
    paths = [tmp_path / "here", tmp_path / "runs.jsonl"]
    assert list(read_evidence(SETUP, paths).runs) == [run.name]
    assert list(read_evidence(SETUP, [tmp_path]).runs) == [run.name]  # as results are found in it
    with pytest.warns(UserWarning, match="there are runs of more seeds; --seeds 1 reads them, too"):
        read_evidence(replace(SETUP, seeds=()), [run])
    lines = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text(lines.replace('"seconds": 60.0', '"seconds": 61.0'))
    with pytest.raises(ValueError, match="are different runs of one name; give one of them"):
        read_evidence(SETUP, paths)


def test_results_are_found_by_their_reproduction_in_folders_and_files_each_once(tmp_path: Path):
    append_result(tmp_path / "a", "table7", {"before": 100.0})
    append_result(tmp_path / "a", "table5", {"f1": 65.9})
    append_result(tmp_path / "b" / "inner", "table7", {"before": 50.0})
    found = read_results([tmp_path / "a", tmp_path / "b", tmp_path / "nothing"], "table7")
    assert [fields.number("before") for fields in found] == [100.0, 50.0]
    (one,) = read_results([tmp_path / "a", tmp_path / "b" / ".." / "a", tmp_path / "a" / "results.jsonl"], "table5")
    assert one.number("f1") == 65.9 and one.text("version") == elmokit.__version__
    (tmp_path / "a" / "results.jsonl").write_text("nonsense\n{}\n")
    with pytest.raises(ValueError, match=r"results\.jsonl, line 1"):
        read_results([tmp_path / "a"], "table7")


def test_seeds_without_a_test_score_in_both_arms_do_not_count(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80, 90), test=(80, 90))
    (first, _) = write_arm(tmp_path, NER, ELMO, (85, 95), test=(85, 95))
    log = first / "metrics.jsonl"
    log.write_text(log.read_text().replace('"eng.testb"', '"other.txt"'))
    (row,) = table1.our_rows(evidence_in(tmp_path))
    assert row.measured_on.endswith("1 seed")
    ((one,), gain) = table1.tested(evidence_in(tmp_path)), {"estimate": 5.0, "low": 4.0, "high": 6.0}
    for estimate, shown in ((4.0, None), (5.0, "+5.00 [4.00, 6.00]")):  # of runs that were trained again, and of these
        record = {"test_set": one.test_set, "baseline": [one.none.runs[0].name], "elmo": [one.elmo.runs[0].name]}
        append_result(tmp_path, "table1", {**record, "interval": {**gain, "estimate": estimate}, "ensembles": {}})
        (cells,) = table1.details(evidence_in(tmp_path))[1].rows.values()
        assert cells[0] == shown
    assert [str(cell) for cell in row.cells if cell is not None] == ["90.00", "95.00", "5.00", "50.00"]


def test_runs_of_the_newer_model_stand_for_a_task_if_no_others_have_more_seeds(tmp_path: Path):
    newer, pair = with_model(SETUP, DEFAULT_MODEL), table1.UNTIL_CONVERGED
    for scores, expected in (((90,), 5), ((90, 90), 10)):
        folder = tmp_path / str(len(scores))
        write_arm(folder, NER, pair.none, (80, 80), test=(80, 80))
        write_arm(folder, NER, pair.elmo, (85, 85), test=(85, 85))
        write_arm(folder, NER, pair.elmo, scores, test=scores, setup=newer)
        evidence = evidence_in(folder)
        assert [one.gain for one in table1.tested(evidence)] == [10, 5]
        assert {task: one.gain for task, one in table1.headlines(evidence).items()} == {NER: expected}
        assert [one.gain for one in table1.tested(replace(evidence, setup=newer))] == [10]  # the user names it
    assert {over_both for *_, over_both in table1.details(evidence)[1].rows.values()} == {None}
    one, other = table1.tested(evidence)  # of the newer model's pair no items are measured
    arms = {arm: [run.name for run in runs.runs] for arm, runs in (("baseline", other.none), ("elmo", other.elmo))}
    record = {"test_set": one.test_set, "interval": {"estimate": 5.0, "low": 3.04, "high": 6.96}, **arms}
    append_result(folder, "table1", record)
    gains = [str(table1.difference_on_test(each, item_records([folder]))) for each in (one, other)]
    assert gains == ["+10.00 [8.04, 11.96]", "+5.00 [3.04, 6.96]"]
