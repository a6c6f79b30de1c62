"""The page of results: claims first, every table that was measured with its command, pictures, and what is missing."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from elmokit.report.pages import write_report
from elmokit.report.pictures import pictures
from logged_task_runs import make_run, make_seeds
from paper import figure2, gamma
from paper.__main__ import main
from paper.figure2 import learnt_weights
from paper.planned_runs import Setup
from paper.report import results_report
from paper.report.figures import weights_figure
from paper.results import append_result
from paper.scales import SCALES

GAMMA_SETTINGS = ("layers", "train_gamma", "rescale")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Seeds of a comparison, and two sizes of the training set."""
    runs = make_seeds(tmp_path / "runs")
    for arm, dev in (("none", 20), ("input", 40)):
        make_run(runs / f"ner-small-{arm}-few", f"elmo={arm}", "train_share=0.1", test=dev, dev=dev)
    return runs


def test_the_page_opens_with_the_claims_and_names_what_is_missing(folder: Path, tmp_path: Path):
    written = write_report([folder], tmp_path / "docs")
    names = ["results.md", "table1.svg", "table1.png", "figure1.svg", "figure1.png", "figure2.svg", "figure2.png"]
    assert [path.name for path in written] == names
    page = written[0].read_text(encoding="utf-8")
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert headings[:3] == ["## Contents", "## The six tasks in short", "## The claims of the paper"]
    assert headings[-1] == "## Not measured"
    ner = "NER (14,041 examples, mini-en (01234567), over seeds):"
    assert f"| 1 | ELMo helps in all six tasks | not measurable here | {ner}" in page
    assert page.count("\n| 11 |") == 1
    assert "- Table 2 (table2): no runs of" in page
    assert "Not measured: SQuAD, SNLI, SRL, Coref, SST-5." in page
    assert "To measure it again:\n\n```sh\npython -m paper figure1 --scale cpu\n```\n" in page
    assert "(figure1.svg)" in page and "(figure2.svg)" in page


def test_the_contents_link_to_every_section(folder: Path, tmp_path: Path):
    page = write_report([folder], tmp_path / "docs")[0].read_text(encoding="utf-8")
    contents, *sections = page.split("\n## ")[1:]
    links = [line for line in contents.splitlines() if line.startswith("- ")]
    assert [link[3:].partition("]")[0] for link in links] == [section.partition("\n")[0] for section in sections]
    assert "- [Figure 1: size of the training set](#figure-1-size-of-the-training-set)" in links
    assert "- [The tasks, without ELMo and with it](#the-tasks-without-elmo-and-with-it)" in links


def test_the_six_tasks_come_first_with_an_interval_each(folder: Path, tmp_path: Path):
    make_run(tmp_path / "runs" / "snli-none", "elmo=none", task="entailment", test=70)
    make_run(tmp_path / "runs" / "snli-elmo", task="entailment", test=75)
    page = write_report([folder], tmp_path / "docs")[0].read_text(encoding="utf-8")
    table = page.partition("## The six tasks in short")[2].partition("##")[0]
    measured = "conll2003, 14,041 examples, mini-en (01234567) at input, 3 seeds"
    ner = f"| NER | {measured} | 82.00 ± 2.00 | 86.00 ± 1.73 | +4.00 \\[1.52, 6.48\\] over seeds | 2.06 |"
    assert ner in table
    assert "mini-en (01234567) at both, 1 seed | 70.00 | 75.00 | +5.00 (one seed) | 0.7 |" in table


def test_runs_that_no_table_plans_have_a_command_of_their_own(folder: Path, tmp_path: Path):
    page = write_report([folder], tmp_path / "docs")[0].read_text(encoding="utf-8")
    again = page.rpartition("To measure it again:")[2]
    files = "--train conll2003/eng.train --dev conll2003/eng.testa --test conll2003/eng.testb"
    own = f"\nelmokit train named-entities --run RUN {files} --recipe cpu --elmo none --seed N\n"
    assert again.count(own) == 1  # of three seeds


def test_the_heat_map_has_its_numbers_in_the_cells_and_the_same_runs_give_the_same_picture(
    folder: Path, tmp_path: Path
):
    drawn = [pictures(lambda: weights_figure(learnt_weights([folder])))["svg"] for _ in range(2)]
    assert drawn[0] == drawn[1]
    texts = {"".join(element.itertext()).strip() for element in ElementTree.fromstring(drawn[0]).iter()}
    assert {"0.20", "0.40", "NER", "at the input", "token layer", "LSTM layer 2"} <= texts


@pytest.mark.parametrize("scale", ["small", "cpu"])
def test_the_command_has_the_scale_of_the_runs_that_the_table_alone_has(scale: str, tmp_path: Path):
    planned = gamma.ABLATION.plan(Setup(SCALES[scale], tmp_path, "mini-en", "01234567", (0,)))
    other = "cpu" if scale == "small" else "small"
    usual = gamma.ABLATION.plan(Setup(SCALES[other], tmp_path, "mini-en", "01234567", (0,)))[0]
    make_run(
        tmp_path / "runs" / usual.name, "elmo=none", "max_epochs=1", test=1, task=usual.task
    )  # of other tables too
    for run in planned:
        elmo = run.config.inputs.elmo
        settings = ["elmo=none"] if elmo is None else [f"elmo.{name}={getattr(elmo, name)}" for name in GAMMA_SETTINGS]
        make_run(tmp_path / "runs" / run.name, *settings, test=1, task=run.task)
    page = results_report.results_files([tmp_path / "runs"], command="x")["results.md"].decode()
    assert f"\npython -m paper gamma --scale {scale}\n```" in page


def test_the_command_has_the_scale_of_which_all_runs_of_a_task_are_those_of_table_1(tmp_path: Path):
    setup = Setup(SCALES["small"], tmp_path, "mini-en", "01234567", (0,))
    (both,) = [run for run in figure2.REPRODUCTION.plan(setup) if run.task == "entailment"]
    mixes = {place: {"gamma": 1.0, "weights": [0.2, 0.4, 0.4]} for place in ("input", "output")}
    for name, settings in ((both.name, ["elmo=both"]), ("entailment-small-none-0", ["elmo=none"])):
        make_run(tmp_path / "runs" / name, *settings, test=1, task="entailment", mixes=mixes)
    page = results_report.results_files([tmp_path / "runs"], command="x")["results.md"].decode()
    assert "```sh\npython -m paper figure2 --scale small\n```" in page
    tasks = page.partition("## The tasks, without ELMo and with it\n")[2]
    assert "```sh\npython -m paper table1 --scale small\n```" in tasks


def test_the_command_of_a_system_that_reads_word_vectors_asks_for_them(tmp_path: Path):
    for system in ("static, words.vec", "cove, runs"):
        values = {"system": system, "is_bilm": False, "fingerprint": "f00d" * 4, "data": "4 pairs"}
        scores = {"rows": {"layer 0": {"train": 1.0, "dev": 1.0, "test": 1.0}}, "hits": {}, "texts": {}}
        append_result(tmp_path / system[:4], "wic", {**values, **scores})
    given = {"stat": "--model static:words.vec", "cove": "--model cove:runs --word-vectors FILE"}
    for folder, arguments in given.items():
        page = results_report.results_files([tmp_path / folder], command="x")["results.md"].decode()
        assert f"\npython -m paper wic {arguments}\n" in page


def test_a_table_of_two_languages_has_a_command_for_each(tmp_path: Path):
    for system, data in (("mini-en", "EWT, UPOS"), ("mini-ko", "Korean GSD, UPOS"), ("random:mini-en", "EWT, UPOS")):
        values = {"system": system, "is_bilm": True, "fingerprint": "f00d" * 4, "data": f"{data}: 1 tokens"}
        append_result(tmp_path, "table6", {**values, "rows": {"layer 0": {data: 1.0}}, "hits": {}, "texts": {}})
    page = results_report.results_files([tmp_path], command="x")["results.md"].decode()
    english = "python -m paper table6 --language en --model mini-en --model random:mini-en"
    assert f"```sh\n{english}\npython -m paper table6 --language ko --model mini-ko\n```" in page


def test_results_alone_make_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    perplexities = {"forward": 90.0, "backward": 110.0, "mean": 100.0}
    values = {"task": "sentiment", "part": "", "data": "sst", "model": "mini-en", "fingerprint": "f00d" * 4}
    append_result(tmp_path / "runs", "table7", {**values, "before": perplexities, "after": perplexities})
    make_run(tmp_path / "runs" / "none", "elmo=none", test=1)
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "docs")]) == 0
    page = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    assert "| SST | sst, mini-en (f00df00d) | 100.00 | 100.00 |" in page
    assert "did not hold | perplexity of SST (sst) 100.0 to 100.0;" in page


def test_without_matplotlib_the_page_has_no_pictures(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(results_report, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="The figures need matplotlib"):
        written = write_report([folder], tmp_path / "docs")
    assert [path.name for path in written] == ["results.md"]
    assert ".svg" not in written[0].read_text(encoding="utf-8")


def test_a_table_without_runs_of_its_kind_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    make_run(tmp_path / "runs" / "none", "elmo=none", test=1)
    assert main(["table2", str(tmp_path / "runs"), "-o", str(tmp_path / "docs")]) == 2
    assert "have no runs of `elmokit train` that differ in ELMo's layers and penalty" in capsys.readouterr().err


def test_the_plan_is_listed_with_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = ["--scale", "small", "--seeds", "1", "--data", str(tmp_path), "--results", str(tmp_path), "--dry-run"]
    assert main(["figure2", "table3", *given]) == 0
    *runs, total = capsys.readouterr().out.splitlines()
    assert total.startswith(f"{len(runs)} of {len(runs)} runs are not finished: about ")
    assert sum("-none-" in run for run in runs) == 5 and any("sentiment-small-elmo-" in run for run in runs)
