"""Pages: our rows under the paper's, and all tables on one page with what is missing."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from elmokit.metrics.statistics import Statistic
from paper import page
from paper.__main__ import main
from paper.page import results_files, table_parts
from paper.plan import ELMO, NO_ELMO
from paper.printed import FIGURE_2, TABLE_1, PaperTable
from paper.reproduction import OurRow, OurTable, Reproduction
from paper.results import append_result
from paper.runs import make_setup
from toy_planned_runs import SETUP, evidence_of, write_arm

EVIDENCE = evidence_of([])
TOY = PaperTable(
    name="Table 0",
    section="9",
    about="Legs of animals.",
    columns=("legs", "source"),
    rows={"cat": ("4.0 ± 0.1", None), "hen": ("2", "a_b")},
    statements=("Cats have more.",),
    notes=("Legs are counted.",),
)


def reproduction(*rows: OurRow, tables: tuple[OurTable, ...] = ()) -> Reproduction:
    return Reproduction("table0", TOY, "files of numbers", lambda _: rows, lambda _: tables)


def test_our_rows_are_under_those_of_the_paper_and_others_come_last():
    ours = OurRow("cat", "4 cats", (Statistic((4.0, 4.0, 3.0, 4.0)), "counted"))
    extra = OurRow("ant", "1 ant", (Statistic((6.0,)), None), is_extra=True)
    table = OurTable("By leg", "Left and right.", ("left",), {"cat": (Statistic((2.0,)),)})
    parts = table_parts(reproduction(extra, ours, tables=(table,)), EVIDENCE, level=1)
    assert parts is not None
    assert "\n".join(parts).splitlines() == [
        "# Table 0",
        "Peters et al. (2018), section 9. Legs of animals.",
        "| row | measured on | legs | source |",
        "|---|---|---:|---:|",
        "| cat | paper | 4.0 ± 0.1 | – |",
        "| cat | 4 cats | 3.75 ± 0.50 | counted |",
        "| hen | paper | 2 | a\\_b |",
        "| ant | 1 ant | 6.00 | – |",
        "- The paper: Cats have more.",
        "- Legs are counted.",
        "## By leg",
        "Left and right.",
        "|  | left |",
        "|---|---:|",
        "| cat | 2.00 |",
    ]


def test_a_figure_without_printed_numbers_has_its_statements():
    row = OurTable("Weights", "", ("layer",), {"NER": ("0.5",)})
    drawn = dataclasses.replace(reproduction(tables=(row,)), paper=FIGURE_2)
    text = "\n".join(table_parts(drawn, EVIDENCE, level=1) or ())
    assert "| row |" not in text and "- The paper: At the input, every task prefers the first LSTM layer" in text


def test_a_table_without_numbers_of_ours_has_no_page():
    assert table_parts(reproduction(), EVIDENCE, level=1) is None


@pytest.mark.parametrize("row", [OurRow("dog", "1 dog", (None, None)), OurRow("cat", "1 cat", (None,))])
def test_a_row_that_does_not_fit_the_paper_s_table_is_refused(row: OurRow):
    with pytest.raises(ValueError, match=r"our row .* cells; Table 0 has 2 columns and the rows cat, hen"):
        table_parts(reproduction(row), EVIDENCE, level=1)


def test_a_printed_row_with_too_few_cells_is_refused():
    with pytest.raises(ValueError, match="Table 0, SNLI: 1 cells in 2 columns"):
        PaperTable("Table 0", "0", "", ("before", "after"), {"SNLI": ("1",)})


def test_the_gains_of_table_1_follow_from_its_scores():
    columns = ("baseline", "+ ELMo", "gain", "relative")
    for row in TABLE_1.rows:
        printed = (str(TABLE_1.cell(row, column)).partition(" ± ")[0] for column in columns)
        none, elmo, gain, relative = map(float, printed)
        assert elmo - none == pytest.approx(gain, abs=0.011), row  # NER: means are rounded, 2.06 is printed
        assert 100 * (elmo - none) / (100 - none) == pytest.approx(relative, abs=0.05), row


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three seeds of NER, and perplexities, where the bundled model has the fingerprint of the toy runs."""
    monkeypatch.setattr(page, "make_setup", lambda data_dir, **_: SETUP)
    for arm, scores in ((NO_ELMO, (80, 82, 84)), (ELMO, (85, 85, 88))):
        write_arm(tmp_path / "runs", "named-entities", arm, scores, test=scores, commit="abc", version="0.1.0")
    perplexities = {"forward": 90.0, "backward": 110.0, "mean": 100.0}
    values = {"task": "sentiment", "part": "", "data": "sst", "model": "mini-en", "fingerprint": "f00d" * 4}
    append_result(tmp_path / "runs", "table7", {**values, "before": perplexities, "after": perplexities})
    return tmp_path / "runs"


def test_the_page_opens_with_the_tasks_and_the_claims_and_names_what_is_missing(folder: Path):
    files = results_files([folder], command="x")
    assert list(files) == ["results.md", "table1.svg", "table1.png"]
    text = files["results.md"].decode()
    contents, *sections = text.split("\n## ")[1:]
    links = [line for line in contents.splitlines() if line.startswith("- ")]
    assert [link[3:].partition("]")[0] for link in links] == [section.partition("\n")[0] for section in sections]
    assert [section.partition("\n")[0] for section in sections] == [
        "The six tasks in short",
        "The claims of the paper",
        "Table 1: test scores of the six tasks",
        "Table 2: how the layers are weighted",
        "Table 7: fine-tuning the biLM",
        "Not measured",
        "Versions and machines",
    ]
    where = "conll2003, 200 training examples, mini-en (01234567), at input, fixed epochs, 3 seeds"
    assert f"| NER | {where} | 82.00 ± 2.00 | 86.00 ± 1.73 | +4.00 \\[1.52, 6.48\\] over seeds | 2.06 |" in text
    assert text.count("\n| 11 |") == 1 and f"| not measurable here | NER ({where}, over seeds):" in text
    assert "did not hold | perplexity of SST (sst) 100.0 to 100.0;" in text
    assert "![Development scores by updates" in sections[2] and "`python -m paper table1` measures it" in sections[2]
    assert "- Table 3: no runs of" in sections[5] and "| table1 | 0.1.0, abc | not recorded |" in sections[6]


def test_without_matplotlib_the_page_has_no_pictures(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="The figures need matplotlib"):
        files = results_files([folder], command="x")
    assert list(files) == ["results.md"] and ".svg" not in files["results.md"].decode()


def test_the_verb_writes_a_table_from_runs_of_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    docs = tmp_path / "docs"
    for arm in (NO_ELMO, ELMO):
        write_arm(tmp_path / "runs", "named-entities", arm, (80, 81), test=(80, 81))
    assert main(["table1", str(tmp_path / "runs"), "-o", str(docs)]) == 2  # of a biLM with another fingerprint
    assert "have no runs of `elmokit train`, with ELMo and without it" in capsys.readouterr().err
    for run in sorted((tmp_path / "runs").iterdir()):
        fingerprint = make_setup(tmp_path).fingerprint
        config = (run / "config.json").read_text().replace("0123456789abcdef", fingerprint)
        (run / "config.json").write_text(config)
        run.rename(run.with_name(run.name.replace("01234567", fingerprint)))
    assert main(["table1", str(tmp_path / "runs"), "-o", str(docs)]) == 0
    assert capsys.readouterr().out.split() == [str(docs / "table1.md")]
    text = (docs / "table1.md").read_text(encoding="utf-8")
    assert f"`python -m paper table1 {tmp_path / 'runs'} -o {docs}`" in text
    assert "| NER | paper | Peters et al. (2017) | 91.93 ± 0.19 | 90.15 | 92.22 ± 0.10 | 2.06 | 21 |" in text
    assert "2 seeds | – | – | 80.50 ± 0.71 | 80.50 ± 0.71 | 0.00 | 0.00 |" in text
