"""Tables and figures measured from runs: cells worked out by hand from runs written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logged_task_runs import make_run
from paper import dropout, figure1, figure2, gamma, layer_norm, table1, table2, table3
from paper.all_reproductions import find_reproduction
from paper.figure1 import overtaken_at, sample_curves
from paper.figure2 import learnt_weights
from paper.report.results_report import results_files
from paper.reproduction import OurTable, distinct_rows
from paper.results import append_result


def cells(table: OurTable) -> list[list[str | None]]:
    return [[None if cell is None else str(cell) for cell in row] for row in table.rows.values()]


def test_table_2_has_the_paper_s_columns_and_all_lambdas(tmp_path: Path):
    for name, settings, scores in (
        ("none", ("elmo=none",), (60.0, 62.0)),
        ("top", ("elmo.layers=top",), (64.0, 65.0)),
        ("1", ("elmo.penalty=1",), (66.0, 66.0)),
        ("0.001", ("elmo.penalty=0.001",), (67.0, 69.0)),
    ):
        for seed, dev in enumerate(scores):
            make_run(tmp_path / f"{name}-{seed}", *settings, f"seed={seed}", test=1, dev=dev)
    (row,) = table2.our_rows([tmp_path])
    assert row.row == "NER" and row.is_extra
    assert [str(cell) for cell in row.cells] == ["61.00 ± 1.41", "64.50 ± 0.71", "66.00 ± 0.00", "68.00 ± 1.41"]
    lambdas, gains, _, cove = table2.details([tmp_path])
    assert cells(cove) == [["88.2", "88.7"], [None, "82.2"]]
    assert cells(lambdas) == [["66.00 ± 0.00", None, "68.00 ± 1.41", None]]
    assert cells(gains) == [["+3.50 [-2.85, 9.85]", "+3.50 [-2.85, 9.85]", "+2.00 [-10.71, 14.71]"]]


def test_runs_of_one_kind_of_layers_make_no_row_of_table_2(tmp_path: Path):
    make_run(tmp_path / "none", "elmo=none", test=1)
    make_run(tmp_path / "elmo", test=1)
    make_run(tmp_path / "control", "elmo.layers=0", test=1)
    for layers in ("mix", "top"):  # an ablation of the gamma
        make_run(tmp_path / f"fixed-{layers}", "elmo.train_gamma=false", f"elmo.layers={layers}", test=1)
    assert table2.our_rows([tmp_path]) == []


def test_table_3_has_the_places_and_what_they_gain(tmp_path: Path):
    for place, scores in {"none": (50, 51), "input": (60, 61), "both": (62, 64), "output": (55, 57)}.items():
        for seed, dev in enumerate(scores):
            run = tmp_path / f"{place}-{seed}"
            make_run(run, f"elmo={place}", f"seed={seed}", test=1, dev=dev, task="question-answering")
    (row,) = table3.our_rows([tmp_path])
    assert row.row == "SQuAD" and not row.is_extra
    assert [str(cell) for cell in row.cells] == ["60.50 ± 0.71", "63.00 ± 1.41", "56.00 ± 1.41"]
    gains, _ = table3.details([tmp_path])
    assert cells(gains)[0][:2] == ["50.50 ± 0.71", "+10.00 [10.00, 10.00]"]


@pytest.mark.parametrize("ablation", [gamma.ABLATION, layer_norm.ABLATION, dropout.ABLATION], ids=lambda one: one.name)
def test_an_ablation_has_its_arms_side_by_side(ablation: gamma.Ablation, tmp_path: Path):
    make_run(tmp_path / "none", "elmo=none", test=1, dev=50)
    for number, values in enumerate(ablation.arms.values()):
        pairs = zip(ablation.vary, values, strict=True)
        settings = [f"elmo.{name}={str(value).lower()}" for name, value in pairs]
        make_run(tmp_path / f"arm-{number}", *settings, test=1, dev=60 + number)
    scores, gains, _ = ablation.reproduction().details([tmp_path])  # pyright: ignore
    assert cells(scores) == [["50.00", *(f"{60 + number}.00" for number in range(len(ablation.arms)))]]
    assert cells(gains) == [[f"+{10 + number}.00 (one seed)" for number in range(len(ablation.arms))]]
    assert ablation.rows([tmp_path]) == []


def with_curve(run: Path, *scores: tuple[int, float]) -> None:
    """Replace the epochs of a run that was written by hand."""
    log = run / "metrics.jsonl"
    result = log.read_text().splitlines()[-1]
    epochs = [json.dumps({"epoch": at, "step": step, "dev": {"f1": score}}) for at, (step, score) in enumerate(scores)]
    log.write_text("\n".join([*epochs, result]) + "\n")


def test_figure_1_has_scores_by_size_and_updates_until_the_baseline_is_passed(tmp_path: Path):
    for share in (0.1, 1.0):
        for arm, dev in (("none", 70 * share), ("input", 75 * share)):
            run = make_run(tmp_path / f"{arm}-{share}", f"elmo={arm}", f"train_share={share}", test=1, dev=dev)
            if arm == "none":
                with_curve(run, (100, 60.0), (200, 69.0), (300, 70.0), (400, 65.0))
            else:
                with_curve(run, (100, 69.0), (200, 71.0), (300, 75.0))
    (curve,) = sample_curves([tmp_path])
    assert curve.row == "NER" and curve.training == "8 epochs" and [one.share for one in curve.points] == [0.1, 1.0]
    when = overtaken_at(curve.points[0])
    assert when is not None and when.elmo is not None
    assert (when.baseline.mean, when.elmo.mean) == (300, 200) and when.fewer == pytest.approx(100 / 3)
    scores, tenfold, updates = figure1.details([tmp_path])
    assert cells(scores) == [["7.00", "7.50", "+0.50 (one seed)"], ["70.00", "75.00", "+5.00 (one seed)"]]
    assert cells(tenfold) == [["7.50", "70.00", "-62.50 (one seed)"]]  # ELMo with a tenth over none with all
    assert "(10 %) against 14,041 (100 %): conll2003" in next(iter(tenfold.rows))
    assert cells(updates)[0] == ["300", "200", "33 %"] and "486" in updates.about


def test_of_the_curves_of_two_scales_the_one_with_more_sizes_counts(tmp_path: Path):
    for scale, shares in (("a-small", (0.1, 0.5)), ("b-cpu", (0.1, 0.5, 1.0)), ("c-other", (0.1, 1.0))):
        for share in shares:
            for arm in ("none", "input"):
                settings = (f"elmo={arm}", f"train_share={share}", f"max_dev_examples={ord(scale[0])}")
                make_run(tmp_path / f"{scale}-{arm}-{share}", *settings, test=1)
    (curve,) = sample_curves([tmp_path])
    assert [point.share for point in curve.points] == [0.1, 0.5, 1.0]


def test_elmo_that_never_reaches_the_baseline_says_so(tmp_path: Path):
    for share in (0.5, 1.0):
        for arm in ("none", "input"):
            run = make_run(tmp_path / f"{arm}-{share}", f"elmo={arm}", f"train_share={share}", "patience=2", test=1)
            with_curve(run, (100, 70.0 if arm == "none" else 60.0))
    _, tenfold, updates = figure1.details([tmp_path])
    assert cells(updates)[0] == ["100", "never", None]
    assert cells(tenfold) == []  # a half is not a tenth
    assert sample_curves([tmp_path])[0].training == "until the development set stops improving"


def test_figure_2_has_the_weights_of_the_largest_runs(tmp_path: Path):
    def add(name: str, *settings: str, weights: list[float], **more: object) -> None:
        mixes = {"input": {"gamma": 1.0, "weights": weights}}
        make_run(tmp_path / name, *settings, test=1, mixes=mixes, **more)

    add("a", "seed=0", weights=[0.2, 0.5, 0.3])
    add("b", "seed=1", weights=[0.4, 0.3, 0.3])
    add("other-lambda", "elmo.penalty=1", weights=[0.3, 0.3, 0.4])
    add("random", "elmo.model=/models/random-0123", weights=[0.9, 0.05, 0.05])
    add("korean", task="sentiment", weights=[0.9, 0.05, 0.05])  # data that the paper does not have
    add("few-seeds-of-another-place", "elmo=both", weights=[0.9, 0.05, 0.05])
    (found,) = learnt_weights([tmp_path])
    assert (found.row, found.place) == ("NER", "input")
    assert found.weights == pytest.approx((0.3, 0.4, 0.3)) and found.spread == pytest.approx(0.1)
    (table,) = figure2.details([tmp_path])
    assert cells(table) == [["0.30", "0.40", "0.30"]] and table.columns == (
        "token layer",
        "LSTM layer 1",
        "LSTM layer 2",
    )


def test_figure_2_is_of_one_place_and_one_model(tmp_path: Path):
    both, output = ({"output": {"gamma": 1.0, "weights": weights}} for weights in ([0.2, 0.5, 0.3], [0.9, 0.05, 0.05]))
    for seed in (0, 1):
        make_run(tmp_path / f"both-{seed}", "elmo=both", f"seed={seed}", test=1, mixes=both)
    make_run(tmp_path / "output", "elmo=output", test=1, mixes=output)
    (found,) = learnt_weights([tmp_path])
    assert found.weights == pytest.approx((0.2, 0.5, 0.3)) and found.measured_on.endswith("(01234567) at both, 2 runs")


def test_layers_that_do_not_vary_are_in_the_name_of_a_row(tmp_path: Path):
    for layers, score in (("mix", 60), ("top", 70)):
        for rescale in ("true", "false"):
            settings = (f"elmo.layers={layers}", f"elmo.rescale={rescale}")
            make_run(tmp_path / "-".join(settings), *settings, test=1, dev=score)
    scores, gains, _ = layer_norm.ABLATION.details([tmp_path])
    where = "NER: conll2003, 14,041 training examples, mini-en (01234567)"
    assert list(scores.rows) == list(gains.rows) == [f"{where}, 1 seed", f"{where}, layers top, 1 seed"]
    assert cells(scores) == [[None, score, None, score] for score in ("60.00", "70.00")]


def test_table_1_has_controls(tmp_path: Path):
    for seed in (0, 1):
        for name, settings, dev in (
            ("none", ("elmo=none",), 50),
            ("elmo", (), 60),
            ("zero", ("elmo.layers=0",), 53),
            ("random", ("elmo.model=/models/random-0123",), 52),
        ):
            make_run(tmp_path / f"{name}-{seed}", *settings, f"seed={seed}", test=dev, dev=dev)
    _, _, _, controls, _ = table1.details([tmp_path])
    gains = [f"+{gain}.00 [{gain}.00, {gain}.00]" for gain in (2, 3, 10)]
    assert cells(controls) == [["50.00 ± 0.00", *gains]]


def test_an_ensemble_stands_beside_the_papers(tmp_path: Path):
    interval = {"estimate": 1.0, "low": 0.0, "high": 2.0}
    values = {"task": "entailment", "test_set": "snli", "model": "mini-en (f00d)", "interval": interval}
    values |= {"data": "snli", "baseline": ["none-0", "none-1"]}
    scores = {"baseline": {"accuracy": 50.0}, "elmo": {"accuracy": 60.0}}
    append_result(tmp_path, "table1", {**values, "elmo": ["elmo-0", "elmo-1"], "ensembles": scores})
    make_run(tmp_path / "run", "elmo=none", test=1)
    _, _, ensembles, *_ = table1.details([tmp_path])
    assert list(ensembles.rows) == ["SNLI: snli, mini-en (f00d), elmo-0, elmo-1", "SQuAD: paper", "SNLI: paper"]
    assert cells(ensembles) == [["2", "50.00", "60.00"], ["11", None, "87.4"], ["5", None, "89.3"]]


def test_rows_of_one_name_are_numbered_and_not_lost():
    rows = distinct_rows([("NER", 1), ("SRL", 2), ("NER", 3), ("NER", 4)])
    assert rows == {"NER": 1, "SRL": 2, "NER (2)": 3, "NER (3)": 4}


def test_results_beside_runs_make_table_7(tmp_path: Path):
    perplexities = {"forward": 90.0, "backward": 110.0, "mean": 100.0}
    values = {"task": "sentiment", "part": "", "data": "sst", "model": "mini-en", "fingerprint": "f00d" * 4}
    append_result(tmp_path / "results", "table7", {**values, "before": perplexities, "after": perplexities})
    run = make_run(tmp_path / "runs" / "none", "elmo=none", test=1)
    page = results_files([run.parent, tmp_path / "results"], command="x")["results.md"].decode()
    assert "| SST | sst, mini-en (f00df00d) | 100.00 | 100.00 |" in page


def test_scores_with_a_fine_tuned_bilm_stand_beside_the_papers(tmp_path: Path):
    for name, model in (("as-it-is", "mini-en"), ("tuned", "finetuned-01234567-entailment")):
        make_run(tmp_path / name, f"elmo.model={model}", task="entailment", test=None)
    *_, scores, _, printed = find_reproduction("table7").details([tmp_path])  # pyright: ignore
    assert len(scores.rows) == 1
    assert dict(printed.rows) == {"SNLI": ("88.9", "89.5")}


@pytest.mark.parametrize("name", ["table1", "table7"])
def test_a_record_of_an_unknown_task_is_named(name: str, tmp_path: Path):
    interval = {"estimate": 1.0, "low": 0.0, "high": 2.0}
    values = {"task": "chess", "part": "", "test_set": "", "model": "", "elmo": [], "interval": interval}
    values |= {"data": "", "baseline": [], "ensembles": {"elmo": {}}}
    append_result(tmp_path, name, values)
    make_run(tmp_path / "run", "elmo=none", test=1)
    with pytest.raises(ValueError, match=r"results\.jsonl, line 1: field task"):
        find_reproduction(name).details([tmp_path])  # pyright: ignore


def write_epochs(folder: Path, scores: tuple[float, ...], *settings: str, converged: bool, num_train: int) -> None:
    """A run of question answering with a development score for each epoch."""
    run = make_run(folder, *settings, test=1, task="question-answering", num_train=num_train, converged=converged)
    *_, last = (run / "metrics.jsonl").read_text().splitlines()
    epochs = [{"epoch": n, "step": 9 * n, "loss": 1.0, "dev": {"f1": f1}} for n, f1 in enumerate(scores, start=1)]
    (run / "metrics.jsonl").write_text("".join(f"{line}\n" for line in (*map(json.dumps, epochs), last)))


@pytest.mark.parametrize("converged", [False, True])
def test_the_largest_runs_that_could_still_improve_show_each_epoch(converged: bool, tmp_path: Path):
    for place, scores in {"none": (50, 54), "input": (40, 57.5), "both": (60, 61)}.items():
        for seed in range(2):  # the second one ends an epoch later
            settings, more = (f"elmo={place}", f"seed={seed}"), (80.0,) * seed
            write_epochs(tmp_path / f"{place}-{seed}", (*scores, *more), *settings, converged=converged, num_train=200)
        write_epochs(tmp_path / f"{place}-few", scores, f"elmo={place}", converged=False, num_train=100)
    _, epochs = table3.details([tmp_path])
    expected = [["50.0 54.0", "+4.00"], ["40.0 57.5", "+17.50"], ["60.0 61.0", "+1.00"]]
    assert cells(epochs) == ([] if converged else expected)
    names = [name.partition(":")[0] for name in epochs.rows]
    assert names == ([] if converged else ["SQuAD, no ELMo", "SQuAD, input", "SQuAD, both"])
