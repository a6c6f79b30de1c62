"""Where results come from, as the page of results shows it."""

from __future__ import annotations

from typing import Any

from elmokit.files.json_fields import Fields
from paper.report.origins_section import origins_section


def record(**values: Any) -> Fields:
    origin = {"version": "0.1.0", "commit": "abc+", "machine": "a loom", "date": "2026-11-25"}
    return Fields("results.jsonl", origin | values)


def rows(*records: Fields) -> list[str]:
    """The table's rows, without its header."""
    return [line for line in origins_section({"table5": records}).splitlines() if line.startswith("| table5")]


def test_records_of_one_origin_share_a_row_with_the_sum_of_their_seconds():
    first = record(system="mini-en", fingerprint="c3b1f14d38f0", processor_seconds=10.4)
    second = record(system="without vectors", fingerprint="", processor_seconds=2.0)
    assert rows(first, second, first) == [
        "| table5 | mini-en (c3b1f14d); without vectors | 0.1.0, abc+ | a loom | 2026-11-25 | 23 |"
    ]


def test_records_of_other_days_and_commits_have_rows_of_their_own():
    shown = rows(record(system="a"), record(system="a", date="2026-11-24"), record(system="a", commit="def"))
    assert [row.split(" | ")[2:5:2] for row in shown] == [
        ["0.1.0, abc+", "2026-11-25"],
        ["0.1.0, abc+", "2026-11-24"],
        ["0.1.0, def", "2026-11-25"],
    ]
    assert all(row.endswith("| – |") for row in shown)


def test_a_record_of_a_task_says_which_test_set_and_model_it_is_of():
    (row,) = rows(record(task="entailment", test_set="test.jsonl", model="mini-en (c3b1f14d)"))
    assert "| entailment, test.jsonl, mini-en (c3b1f14d) |" in row
