"""Results of systems: measured once, kept with where they come from, and compared by their hits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paper import system_results
from paper.reproduction import Request
from paper.system_results import (
    NO_SYSTEM,
    Measured,
    details_table,
    difference,
    differences_table,
    gain_name,
    measure_systems,
    read_system_results,
    share_gain,
)
from toy_senses import cue_system


@pytest.fixture(autouse=True)
def _cues(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system_results, "open_system", cue_system)


def measure(request: Request, counts: list[str], *, data: str = "toy: 4") -> list[Path]:
    def count(system: object) -> Measured:
        counts.append("measured")
        rows = {"layer 0": {"F1": 50.00049}, "layer 1": {"F1": 100.0, "dev": 1.0}}
        return Measured(rows, {"layer 0": "1100", "layer 1": "1111"}, {"play": "a [play] ended"})

    return measure_systems(
        "toy",
        request,
        count,
        default=["cues"],
        data=data,
        without_vectors=lambda: Measured({"chance": {"F1": 25.0}}),
    )


def test_a_system_is_measured_once_for_the_same_data(tmp_path: Path):
    counts: list[str] = []
    for data in ("toy: 4", "toy: 4", "toy: 5"):
        paths = measure(Request(tmp_path, tmp_path / "results"), counts, data=data)
    found = read_system_results(paths, "toy")
    assert counts == ["measured"] * 2 and [each.system for each in found] == [NO_SYSTEM, "cues", NO_SYSTEM, "cues"]
    assert found[1].measured.rows["layer 0"] == {"F1": 50.0} and found[1].fingerprint == "cues"
    assert found[1].measured.texts == {"play": "a [play] ended"} and found[1].data == "toy: 4"


def test_a_record_says_what_it_cost_and_where_it_comes_from(tmp_path: Path):
    (path,) = measure(Request(tmp_path, tmp_path / "results"), [])
    for name in ("version", "commit", "machine", "seconds", "processor_seconds", "threads"):
        assert f'"{name}": ' in path.read_text(), name


def test_vectors_of_one_name_are_told_apart_by_their_fingerprints(tmp_path: Path):
    nothing, cues = read_system_results(measure(Request(tmp_path, tmp_path), []), "toy")
    other = replace(cues, system="static, words.vec", is_bilm=False, fingerprint="0123456789abcdef")
    assert [each.label for each in (nothing, other)] == [NO_SYSTEM, "static, words.vec (01234567)"]


def test_tables_have_every_number_and_the_differences_their_intervals(tmp_path: Path):
    found = read_system_results(measure(Request(tmp_path, tmp_path), []), "toy")
    table = details_table(found, title="All", about="F1.")
    assert table.columns == ("F1", "dev") and table.about == "F1. Data: toy: 4."
    assert [cell and str(cell) for cell in table.rows["cues (cues), layer 0"]] == ["50.00", None]
    gains = differences_table(found, [("layer 0", "layer 1"), ("layer 0", "layer 2")], about="Points.")
    assert list(gains.rows) == ["cues (cues): layer 1 over layer 0"]
    interval = difference(found[1], "layer 0", "layer 1")
    assert interval is not None and interval.estimate == 50 and 0 <= interval.low < 50 < interval.high <= 100


def test_gains_of_shares_are_kept_with_their_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    gain = share_gain([0.5, 0.0, 0.25, 0.0], [1.0, 0.5, 0.75, 0.5])
    assert gain.estimate == 50 and gain.low == gain.high == 50  # each item gains a half
    measured = Measured({"layer 0": {"share": 18.75}}, gains={gain_name("layer 0", "layer 1"): gain})
    (path,) = measure_systems("toy", Request(tmp_path, tmp_path), lambda _: measured, default=["cues"], data="toy: 4")
    (found,) = read_system_results([path], "toy")
    assert difference(found, "layer 0", "layer 1") == gain and difference(found, "layer 1", "layer 2") is None
