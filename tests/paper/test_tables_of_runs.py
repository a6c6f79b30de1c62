"""Tables and figures measured from runs: cells worked out by hand from runs written by hand."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from elmokit.report.pictures import pictures
from elmokit.system.messages import FormatError
from paper import figure1, figure2, perplexity_curve, table1, table2, table3, table7
from paper.ablation import Ablation
from paper.ablations import DROPOUT_TABLE, GAMMA_TABLE, KOREAN_TABLE, LAYER_NORM_TABLE
from paper.figure1 import arms, overtaken_at, sample_curves
from paper.figure2 import learnt_mixes
from paper.figures import gains_figure, weights_figure
from paper.models import CURVE_RESULTS
from paper.perplexity_curve import ARMS, BASELINE, gain_curves
from paper.plan import CONVERGED, ELMO, FINETUNED, NO_ELMO, Arm
from paper.reproduction import OurTable, distinct_rows
from paper.results import append_result
from toy_planned_runs import evidence_in, write_arm

NER, QA = "named-entities", "question-answering"
INTERVAL = {"estimate": 4.0, "low": 3.0, "high": 5.0}


def cells(table: OurTable) -> list[list[str | None]]:
    return [[None if cell is None else str(cell) for cell in row] for row in table.rows.values()]


def test_table_2_has_the_paper_s_columns_and_all_lambdas(tmp_path: Path):
    scores = {"no ELMo": (60, 62), "last layer": (64, 65), "lambda=1": (66, 66), "lambda=0.001": (67, 69)}
    for arm in table2.TABLE.arms:
        write_arm(tmp_path, NER, arm, scores.get(arm.name, ()))
    evidence = evidence_in(tmp_path)
    (row,) = table2.TABLE.rows(evidence)
    assert row.row == "NER" and row.is_extra
    assert row.measured_on == "conll2003, 200 training examples, mini-en (01234567), 2 seeds"
    assert [str(cell) for cell in row.cells] == ["61.00 ± 1.41", "64.50 ± 0.71", "66.00 ± 0.00", "68.00 ± 1.41"]
    for arm, score in ((NO_ELMO, 60), (ELMO, 70)):  # of Korean, the test sets
        write_arm(tmp_path, "named-entities-ko", arm, (50,), test=(score, 0, 0))
    korean, korean_gains, _ = KOREAN_TABLE.details(evidence_in(tmp_path))
    assert cells(korean) == [["60.00", "70.00"]] and cells(korean_gains) == [["60.00", "+10.00 (one seed)"]]
    lambdas, gains, rising = table2.TABLE.details(evidence)
    assert cells(lambdas)[0][2:] == ["66.00 ± 0.00", None, "68.00 ± 1.41", None]
    assert cells(gains)[0][1:] == ["+3.50 [-2.85, 9.85]", "+3.50 [-2.85, 9.85]", "+2.00 [-10.71, 14.71]"]
    assert gains.columns[0] == "no ELMo" and gains.columns[3] == "lambda=0.001 over lambda=1"
    assert cells(rising) == []  # all have converged


@pytest.mark.parametrize(
    "table", [table3.TABLE, GAMMA_TABLE, LAYER_NORM_TABLE, DROPOUT_TABLE], ids=lambda one: one.name
)
def test_an_ablation_has_its_arms_side_by_side(table: Ablation, tmp_path: Path):
    write_arm(tmp_path, QA, NO_ELMO, (50,))  # a single arm makes no row
    for number, arm in enumerate(table.arms):
        write_arm(tmp_path, "semantic-roles", arm, (50 + number,), converged=number != 1, epochs=((5, 40), (9, 41.5)))
    scores, gains, rising = table.details(evidence_in(tmp_path))
    numbers = range(len(table.arms))
    assert cells(rising) == [["+1.50" if number == 1 else None for number in numbers]]
    rows = table.rows(evidence_in(tmp_path))
    if table.columns:  # all of its arms but the first are in the paper's table
        assert cells(scores) == [] and [str(cell) for cell in rows[0].cells] == ["51.00", "52.00", "53.00"]
        assert cells(gains) == [["50.00", "+1.00 (one seed)", "+1.00 (one seed)", "-1.00 (one seed)"]]
    else:
        assert rows == [] and cells(scores) == [[f"{50 + number}.00" for number in numbers]]
        assert cells(gains) == [["50.00", *(f"+{number}.00 (one seed)" for number in numbers if number)]]


def write_seeds(folder: Path, none: Arm = NO_ELMO, elmo: Arm = ELMO) -> list[str]:
    """Three seeds of both arms; returns the names of the runs."""
    runs = write_arm(folder, NER, none, (81, 83, 85), test=(80, 82, 84))
    return [run.name for run in (*runs, *write_arm(folder, NER, elmo, (86, 86, 89), test=(85, 85, 88)))]


WHERE = "conll2003, 200 training examples, mini-en (01234567), at input, fixed epochs, 3 seeds"


def test_table_1_has_the_means_and_gains_of_each_pair(tmp_path: Path):
    write_seeds(tmp_path)
    (row,) = table1.our_rows(evidence_in(tmp_path))
    assert (row.row, row.measured_on) == ("NER", WHERE)
    assert [cell and str(cell) for cell in row.cells] == [None, None, "82.00 ± 2.00", "86.00 ± 1.73", "4.00", "22.22"]


def test_seeds_without_a_test_score_in_both_arms_do_not_count(tmp_path: Path):
    write_arm(tmp_path, NER, NO_ELMO, (80, 90), test=(80, 90))
    (first, _) = write_arm(tmp_path, NER, ELMO, (85, 95), test=(85, 95))
    log = first / "metrics.jsonl"
    log.write_text(log.read_text().replace('"eng.testb"', '"other.txt"'))
    (row,) = table1.our_rows(evidence_in(tmp_path))
    assert row.measured_on.endswith("1 seed")
    assert [str(cell) for cell in row.cells if cell is not None] == ["90.00", "95.00", "5.00", "50.00"]


def test_the_first_pair_that_was_trained_stands_for_a_task(tmp_path: Path):
    write_seeds(tmp_path)
    assert table1.headlines(evidence_in(tmp_path))[NER].words == "fixed epochs"
    none, elmo = (Arm("", settings, CONVERGED) for settings in (("elmo=none",), ()))
    write_seeds(tmp_path, none, elmo)
    evidence = evidence_in(tmp_path)
    assert table1.headlines(evidence)[NER].words == "until converged"
    assert [one.words for one in table1.tested(evidence)] == ["until converged", "fixed epochs"]


def test_a_pair_has_its_intervals_over_test_items_and_its_ensemble_where_they_were_measured(tmp_path: Path):
    names = write_seeds(tmp_path)
    record = {"task": NER, "test_set": "eng.testb", "interval": INTERVAL}
    ensembles = {"baseline": {"f1": 50.0}, "elmo": {"f1": 60.0}}
    append_result(tmp_path, "table1", {**record, "baseline": names[:3], "elmo": names[3:], "ensembles": ensembles})
    append_result(tmp_path, "table1", {**record, "baseline": names[:2], "elmo": names[3:5], "ensembles": {}})
    tables = {table.title: table for table in table1.details(evidence_in(tmp_path))}
    intervals = ("+4.00 [3.00, 5.00]", "+4.00 [1.52, 6.48]", "+4.00 [1.32, 6.68]")
    assert tables["Intervals of the gains"].rows == {f"NER: {WHERE}": intervals}
    assert cells(tables["Ensembles"]) == [["3", "50.00", "60.00"], ["11", None, "87.4"], ["5", None, "89.3"]]


def test_table_1_has_controls_and_other_systems(tmp_path: Path):
    for arm, score in zip(
        (*table1.CONTROLS.arms, *table1.OTHER_SYSTEMS.arms[2:]), (50, 52, 53, 60, 55, 66), strict=True
    ):
        write_arm(tmp_path, NER, arm, (score, score), test=(score, score, score))
    tables = {table.title: table for table in table1.details(evidence_in(tmp_path))}
    gains = [f"+{gain}.00 [{gain}.00, {gain}.00]" for gain in (2, 3, 10)]
    assert cells(tables["Controls"]) == [["50.00 ± 0.00", *gains]]
    (row,) = cells(tables["Other systems: Differences"])
    assert row[3:] == ["+5.00 [5.00, 5.00]", "-6.00 [-6.00, -6.00]"]  # ELMo over CoVe, and over MiniLM


ARTICLES = {"model": "mini-en (c3b1f14d)", "questions": 1328, "percent_read": 0.466, "baseline": 60.871, "elmo": 67.26}


def test_each_group_of_articles_has_a_row_of_its_newest_record(tmp_path: Path):
    for number, elmo in ((7, 1.0), (7, 67.26), (41, 67.26)):
        values = {**ARTICLES, "articles": number, "elmo": elmo, "interval": INTERVAL}
        append_result(tmp_path, table1.ARTICLES, values)
    table = table1.details(evidence_in(tmp_path))[2]
    row = ["1,328", "0.47 %", "60.87", "67.26", "+4.00 [3.00, 5.00]"]
    assert cells(table) == [row, row] and next(iter(table.rows)) == "7 articles, mini-en (c3b1f14d)"
    append_result(tmp_path, table1.ARTICLES, {**ARTICLES, "articles": 7})
    with pytest.raises(FormatError, match="interval"):
        table1.details(evidence_in(tmp_path))


def test_figure_1_has_scores_by_size_and_updates_until_the_baseline_is_passed(tmp_path: Path):
    for share in (0.1, 1.0):
        none, elmo = arms(share, "")
        epochs = ((100, 60.0), (200, 69.0), (300, 70.0), (400, 65.0))
        write_arm(tmp_path, NER, none, (70 * share,), epochs=epochs)
        write_arm(tmp_path, NER, elmo, (75 * share,), epochs=((100, 69.0), (200, 71.0), (300, 75.0)))
    (curve,) = sample_curves(evidence_in(tmp_path))
    assert curve.row == "NER" and curve.training == "8 epochs" and [one.share for one in curve.points] == [0.1, 1.0]
    when = overtaken_at(curve.points[0])
    assert when is not None and when.elmo is not None
    assert (when.none.mean, when.elmo.mean) == (300, 200) and when.fewer == pytest.approx(100 / 3)
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


def test_figure_2_has_the_mean_weights_at_each_place(tmp_path: Path):
    converged, both = figure2.ARMS
    mixes = [{"input": {"gamma": 1.0 + seed, "weights": [0.2 + seed / 5, 0.5 - seed / 5, 0.3]}} for seed in (0, 1)]
    for run, mix in zip(write_arm(tmp_path, NER, converged, (80, 81)), mixes, strict=True):
        log = run / "metrics.jsonl"
        log.write_text(log.read_text().replace("}\n{", "}\n{" + f'"mixes": {mix}, '.replace("'", '"')))
    flat = {"gamma": 1.0, "weights": [0.9, 0.05, 0.05]}
    write_arm(tmp_path, NER, both, (80,), mixes={"input": flat, "output": flat})
    at_input, at_output = learnt_mixes(evidence_in(tmp_path))
    assert (at_input.row, at_input.place, at_input.gamma) == ("NER", "input", 1.5)
    assert at_input.weights == pytest.approx((0.3, 0.4, 0.3)) and at_output.weights == (0.9, 0.05, 0.05)
    (table,) = figure2.details(evidence_in(tmp_path))
    assert cells(table) == [["0.30", "0.40", "0.30"], ["0.90", "0.05", "0.05"]]
    drawn = [pictures(lambda: weights_figure([at_input, at_output]))["svg"] for _ in range(2)]
    assert drawn[0] == drawn[1]
    texts = {"".join(element.itertext()).strip() for element in ElementTree.fromstring(drawn[0]).iter()}
    assert {"0.30", "0.90", "NER", "at the input", "token layer", "LSTM layer 2"} <= texts


def test_gains_are_shown_by_the_perplexity_of_the_bilm(tmp_path: Path):
    write_arm(tmp_path, NER, BASELINE, (80, 81))
    for number, (model, arm) in enumerate(ARMS.items()):
        write_arm(tmp_path, NER, arm, (81 + number, 82.2 + number))
        append_result(tmp_path, CURVE_RESULTS, {"model": model, "mean": 140.0 - number})
    (curve,) = gain_curves(evidence_in(tmp_path))
    assert [(point.perplexity, point.gain.estimate) for point in curve.points] == [
        (140, pytest.approx(1.1)),
        (139, pytest.approx(2.1)),
        (138, pytest.approx(3.1)),
    ]
    (table,) = perplexity_curve.details(evidence_in(tmp_path))
    assert [row[-1] for row in cells(table)] == ["", "", "+1.00 [1.00, 1.00]", "+2.00 [2.00, 2.00]"]
    write_arm(tmp_path, "entailment", BASELINE, (50, 50))
    for number, arm in enumerate(ARMS.values()):
        write_arm(tmp_path, "entailment", arm, (51 + 2 * number, 52 + 4 * number))
    (table,) = perplexity_curve.details(evidence_in(tmp_path))
    assert list(table.rows)[-1] == "Mean of the tasks, mini-en"
    assert cells(table)[-1] == ["", "", "", "+4.00 [-8.71, 16.71]"]  # of 3 and 5, by seed
    drawn = pictures(lambda: gains_figure([curve]))["svg"]
    assert {"NER", "gain in F1 (%), development set"} <= set(ElementTree.fromstring(drawn).itertext())
    (tmp_path / "results.jsonl").unlink()
    assert gain_curves(evidence_in(tmp_path)) == []  # gains without perplexities are no curve


def test_table_7_has_perplexities_and_the_scores_with_either_bilm(tmp_path: Path):
    perplexities = {"forward": 90.0, "backward": 110.0, "mean": 100.0}
    values = {"task": "sentiment", "part": "", "data": "sst", "model": "mini-en", "fingerprint": "f00d" * 4}
    append_result(tmp_path, "table7", {**values, "before": perplexities, "after": perplexities})
    for arm, score in ((ELMO, 60), (Arm("", vectors=FINETUNED), 62)):
        write_arm(tmp_path, "entailment", arm, (score,))
    evidence = evidence_in(tmp_path)
    (row,) = table7.our_rows(evidence)
    assert (row.row, row.measured_on) == ("SST", "sst, mini-en (f00df00d)")
    assert [str(cell) for cell in row.cells] == ["100.00", "100.00"]
    directions, scores, gains, _ = table7.details(evidence)
    assert cells(directions) == [["90.0", "90.0", "110.0", "110.0"]]
    assert distinct_rows([("NER", 1), ("SRL", 2), ("NER", 3)]) == {"NER": 1, "SRL": 2, "NER (2)": 3}
    assert cells(scores) == [[None, "60.00", "62.00"]] and cells(gains) == [[None, "+2.00 (one seed)"]]
    append_result(tmp_path, "table7", {**values, "task": "chess"})
    with pytest.raises(ValueError, match=r"results\.jsonl, line 2: field task"):
        table7.our_rows(evidence)
