"""The table of results: rows are read back sorted, and errors name the damaged line."""

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.runs.results_table import COLUMNS, Result, read_results, write_results
from elmokit.system.messages import FormatError

RUN = Result(
    *(89.125, "f1", "table1", "named-entities", "conll2003", 3453, "+ ELMo", "small-en", "fafd1334", "", 1),
    *("eng.testb", 14041, 20, "patience", 15, 6.5, "9290dcb", "x86_64", "ner-1"),
)


def test_results_are_read_back_sorted_with_the_settings_in_which_they_differ(tmp_path: Path) -> None:
    path = tmp_path / "results.tsv"
    without = replace(RUN, arm="no ELMo", best_epoch=None, cpu_minutes=None, settings={"training.dropout_rate": "0.1"})
    write_results(path, [without, replace(RUN, machine="two\tcores\nof a machine")])  # would break the line
    first, second = read_results(path)
    assert first == replace(RUN, machine="two cores of a machine", settings={"training.dropout_rate": ""})
    assert second == without
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].split("\t") == [*COLUMNS, "training.dropout_rate"]
    assert lines[1:] == sorted(lines[1:])
    assert [replace(RUN, best_epoch=best).was_improving for best in (None, 18, 19, 20)] == [False, False, True, True]


@pytest.mark.parametrize("damage", ["\t1", "\tx\t"])
def test_damage_is_named_with_its_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "results.tsv"
    write_results(path, [RUN])
    path.write_text(path.read_text(encoding="utf-8").replace("\t89.125\t", damage), encoding="utf-8")
    with pytest.raises(FormatError, match="line 2: is not a result"):
        read_results(path)
    path.write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(FormatError, match="is not a table of results"):
        read_results(path)
