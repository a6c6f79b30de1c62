"""The paper's numbers: what must agree within it does, and a mistyped cell is not found."""

from __future__ import annotations

import re

import pytest

from paper import printed as paper
from paper.printed import ALL_TABLES, TABLE_1, PaperTable, Printed


def test_every_table_and_figure_is_there_once():
    names = [table.name for table in ALL_TABLES]
    assert len(set(names)) == len(names)
    assert {f"Table {number}" for number in range(1, 14)} | {"Figure 1", "Figure 2"} <= set(names)
    here = [value for value in vars(paper).values() if isinstance(value, PaperTable)]
    assert {table.name for table in here} == set(names)


def test_the_gains_of_table_1_follow_from_its_scores():
    for row in TABLE_1.rows:
        baseline, elmo = TABLE_1.cell(row, "baseline").value, TABLE_1.cell(row, "+ ELMo").value
        gain, relative = TABLE_1.cell(row, "gain").value, TABLE_1.cell(row, "relative").value
        assert elmo - baseline == pytest.approx(gain, abs=0.011), row  # NER: means are rounded, 2.06 is printed
        assert 100 * (elmo - baseline) / (100 - baseline) == pytest.approx(relative, abs=0.05), row


def test_the_tables_of_the_appendix_agree_with_table_1():
    for table, row, column in (
        (paper.TABLE_8, "ESIM+ELMo", "SNLI"),
        (paper.TABLE_9, "BiDAF + self-attention + ELMo", "SQuAD"),
        (paper.TABLE_10, "He et al. (2017) + ELMo", "SRL"),
        (paper.TABLE_11, "Lee et al. (2017) + ELMo", "Coref"),
        (paper.TABLE_12, "biLSTM-CRF + ELMo", "NER"),
        (paper.TABLE_13, "BCN+ELMo", "SST-5"),
    ):
        assert table.cell(row, table.columns[-1]).value == TABLE_1.cell(column, "+ ELMo").value


def test_tables_2_and_3_are_of_the_final_version():
    assert [cell and cell.text for cell in paper.TABLE_2.rows["SQuAD"]] == ["80.8", "84.7", "85.0", "85.2"]
    assert [cell and cell.text for cell in paper.TABLE_3.rows["SQuAD"]] == ["85.1", "85.6", "84.8"]
    assert paper.TABLE_6.cell("biLM, first layer", "accuracy").text == "97.3"
    assert paper.TABLE_5.cell("biLM, second layer", "F1").value == 69.0


def test_fine_tuning_lowers_every_perplexity():
    for before, after in paper.TABLE_7.rows.values():
        assert before is not None and (after is None or after.value < before.value)


def test_a_printed_number_has_a_value_and_perhaps_a_deviation():
    assert (Printed("92.22 ± 0.10").value, Printed("92.22 ± 0.10").deviation) == (92.22, 0.1)
    assert Printed("81.1").deviation is None
    with pytest.raises(ValueError):
        _ = Printed("playing, game").value


def test_what_was_not_seen_in_the_paper_is_marked():
    assert not paper.TABLE_7.cell("CoNLL 2012 (coref/SRL)", "before").is_checked
    assert all(cell.is_checked for row in TABLE_1.rows.values() for cell in row if cell is not None)


def test_a_cell_that_is_not_there_is_refused_with_the_names():
    with pytest.raises(ValueError, match=re.escape("Table 1 has no cell (NER, elmo); its rows are SQuAD, SNLI")):
        TABLE_1.cell("NER", "elmo")
    with pytest.raises(ValueError, match="prints nothing"):
        paper.TABLE_7.cell("CoNLL 2012 (coref/SRL)", "after")


def test_a_row_with_too_few_cells_is_refused():
    with pytest.raises(ValueError, match="Table 0, SNLI: 1 cells in 2 columns"):
        PaperTable("Table 0", "0", "", ("before", "after"), {"SNLI": (Printed("1"),)})
