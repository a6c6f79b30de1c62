"""What ELMo brings to groups of SQuAD's articles, as results have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from elmokit.system.messages import FormatError
from paper.results import append_result
from paper.squad_articles import NAME, squad_articles
from paper.table1 import details

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {
    "task": "question-answering",
    "model": "mini-en (c3b1f14d)",
    "articles": 7,
    "questions": 1328,
    "percent_read": 0.466,
    "baseline": 60.871,
    "elmo": 67.26,
    "interval": {"estimate": 6.39, "low": 5.09, "high": 7.77},
}


def test_each_group_of_articles_has_a_row(tmp_path: Path) -> None:
    append_result(tmp_path, NAME, {**VALUES, "elmo": 1.0})
    append_result(tmp_path, NAME, VALUES)  # measured again
    append_result(tmp_path, NAME, {**VALUES, "articles": 41, "questions": 9242})
    table = squad_articles([tmp_path])
    cells = ("0.47 %", "60.87", "67.26", "+6.39 [5.09, 7.77]")
    names = ("7 articles, mini-en (c3b1f14d)", "41 articles, mini-en (c3b1f14d)")
    assert table.rows == {names[0]: ("1,328", *cells), names[1]: ("9,242", *cells)}
    assert all(len(row) == len(table.columns) for row in table.rows.values())
    assert table in details([tmp_path])


def test_a_record_without_an_interval_is_refused(tmp_path: Path) -> None:
    append_result(tmp_path, NAME, {name: value for name, value in VALUES.items() if name != "interval"})
    with pytest.raises(FormatError, match="interval"):
        squad_articles([tmp_path])
