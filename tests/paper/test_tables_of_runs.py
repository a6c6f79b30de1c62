"""Runs read back by name, and tables and figures measured from them: cells worked out by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import elmokit
from elmokit.report.pictures import pictures
from elmokit.runs.logged_runs import read_runs, write_runs
from paper import figure1, perplexity_curve, table1, table2, table7
from paper.figure1 import arms, overtaken_at, sample_curves
from paper.figures import gains_figure
from paper.models import CURVE_RESULTS
from paper.perplexity_curve import ARMS, BASELINE, TODAY, gain_curves, setup_of
from paper.plan import CONVERGED, ELMO, FINETUNED, NO_ELMO, Arm
from paper.reproduction import OurTable
from paper.results import append_result, read_results
from paper.runs import fingerprint_of, gain_text, measured_on, read_evidence
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


@pytest.mark.parametrize(("num_epochs", "is_converged"), [(9, True), (8, False)])
def test_an_older_run_has_converged_if_its_log_says_so(num_epochs: int, is_converged: bool, tmp_path: Path):
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
    (one,) = read_results([tmp_path / "a", tmp_path / "b" / ".." / "a", tmp_path / "a" / "results.jsonl"], "table5")
    assert one.number("f1") == 65.9 and one.text("version") == elmokit.__version__
    (tmp_path / "a" / "results.jsonl").write_text("nonsense\n{}\n")
    with pytest.raises(ValueError, match=r"results\.jsonl, line 1"):
        read_results([tmp_path / "a"], "table7")


def cells(table: OurTable) -> list[list[str | None]]:
    return [[None if cell is None else str(cell) for cell in row] for row in table.rows.values()]


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
        assert [row[0] for row in cells(table1.details(evidence_in(tmp_path))[1])] == [shown]
    assert [str(cell) for cell in row.cells if cell is not None] == ["90.00", "95.00", "5.00", "50.00"]


def test_figure_1_has_scores_by_size_and_updates_until_the_baseline_is_passed(tmp_path: Path):
    for share in (0.1, 1.0):
        none, elmo = arms(share, "")
        epochs = ((100, 60.0), (200, 69.0), (300, 70.0), (400, 65.0))
        write_arm(tmp_path, NER, none, (70 * share,), epochs=epochs)
        write_arm(tmp_path, NER, elmo, (75 * share,), epochs=((100, 69.0), (200, 71.0), (300, 75.0)))
    (curve,) = sample_curves(evidence_in(tmp_path))
    assert curve.row == "NER" and curve.training == "8 epochs" and [one.share for one in curve.points] == [0.1, 1.0]
    assert overtaken_at(curve.points[0]) == (300, 200)
    scores, tenfold, updates = figure1.details(evidence_in(tmp_path))
    assert cells(scores) == [["7.00", "7.50", "+0.50 (one seed)"], ["70.00", "75.00", "+5.00 (one seed)"]]
    assert cells(tenfold) == [["7.50", "70.00", "-62.50 (one seed)"]]  # ELMo with a tenth over none with all
    assert cells(updates)[0] == ["300", "200", "33 %"]
    for share in (0.001, 1.0):  # ELMo that never reaches the baseline
        for arm, score in zip(arms(share, CONVERGED), (70.0, 60.0), strict=True):
            write_arm(tmp_path / "never", NER, arm, (score,), epochs=((100, score),))
    _, tenfold, updates = figure1.details(evidence_in(tmp_path / "never"))
    assert cells(updates)[0] == ["100", "never", None] and cells(tenfold) == []
    assert sample_curves(evidence_in(tmp_path / "never"))[0].training == "until the development set stops improving"


def write_curve(folder: Path, task: str, model: str, scores: tuple[float, float]):
    setup = setup_of(SETUP, model) if ARMS[model] is TODAY else SETUP
    write_arm(folder, task, ARMS[model], scores, setup=setup)


def test_gains_are_shown_by_the_perplexity_of_the_bilm(tmp_path: Path):
    write_arm(tmp_path, NER, BASELINE, (80, 81))
    *older, _, newest = ARMS
    for number, model in enumerate(older):
        write_curve(tmp_path, NER, model, (81 + number, 82.2 + number))
        weights = {"model": model, "fingerprint": fingerprint_of(model)}
        append_result(tmp_path, CURVE_RESULTS, {**weights, "mean": 140.0 - number})
        append_result(tmp_path, CURVE_RESULTS, {**weights, "fingerprint": "other", "mean": 1.0})
    (curve,) = gain_curves(evidence_in(tmp_path))
    assert [(point.perplexity, point.gain.estimate) for point in curve.points] == [
        (140, pytest.approx(1.1)),
        (139, pytest.approx(2.1)),
        (138, pytest.approx(3.1)),
    ]
    (table,) = perplexity_curve.details(evidence_in(tmp_path))
    assert [row[-1] for row in cells(table)] == ["", "", "+1.00 [1.00, 1.00]", "+2.00 [2.00, 2.00]"]
    write_arm(tmp_path, "entailment", BASELINE, (50, 50))
    for number, model in enumerate(older):
        write_curve(tmp_path, "entailment", model, (51 + 2 * number, 52 + 4 * number))
    (table,) = perplexity_curve.details(evidence_in(tmp_path))
    assert list(table.rows)[-1] == "Mean of the tasks, mini-en"
    assert cells(table)[-1] == ["", "", "", "+4.00 [-8.71, 16.71]"]  # of 3 and 5, by seed
    write_curve(tmp_path, NER, newest, (85, 87))  # of one task: no part of the mean
    append_result(tmp_path, CURVE_RESULTS, {"fingerprint": fingerprint_of(newest), "mean": 85.0})
    (table,) = perplexity_curve.details(evidence_in(tmp_path, setup=setup_of(SETUP, newest)))
    assert table.rows[f"NER, {newest}"][0] == "85.0" and table.rows["NER, mini-en"][0] == "138.0"
    assert cells(table)[-1] == ["", "", "", "+4.00 [-8.71, 16.71]"]
    assert "NER" in pictures(lambda: gains_figure([curve]), endings=("svg",))["svg"].decode()
    (tmp_path / "results.jsonl").unlink()
    assert gain_curves(evidence_in(tmp_path)) == []  # gains without perplexities are no curve


def test_table_7_has_perplexities_and_the_scores_with_either_bilm(tmp_path: Path):
    perplexities = {"mean": 100.0}
    values = {
        "task": "sentiment",
        "part": "",
        "data": "sst",
        "model": "mini-en",
        "fingerprint": "f00d" * 4,
        "tuned": "",
    }
    for folder in (tmp_path, tmp_path / "copy"):
        append_result(folder, "table7", {**values, "before": perplexities, "after": perplexities})
    for arm, score in ((ELMO, 60), (Arm("", vectors=FINETUNED), 62)):
        write_arm(tmp_path, "entailment", arm, (score,))
    evidence = evidence_in(tmp_path)
    (row,) = table7.our_rows(evidence)
    assert (row.row, row.measured_on) == ("SST", "sst, mini-en (f00df00d)")
    assert [str(cell) for cell in row.cells] == ["100.00", "100.00"]
    scores, gains = table7.SCORES.details(evidence)
    assert cells(scores) == [[None, "60.00", "62.00"]] and cells(gains) == [[None, "+2.00 (one seed)"]]
