"""Word in Context, English and Korean, on toy pairs: both are read, scored and shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper import system_results
from paper.reproduction import Reproduction, Request
from paper.wic import KOBEST_REPRODUCTION as KOBEST
from paper.wic import REPRODUCTION as WIC
from toy_planned_runs import evidence_of
from toy_senses import cue_system


@pytest.fixture(autouse=True)
def _cues(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system_results, "open_system", cue_system)


def test_english_pairs(tmp_path: Path):
    for part in ("train", "dev", "test"):
        folder = tmp_path / "external/wic/wic/HW2/WiC_dataset" / part
        folder.mkdir(parents=True)
        rows = ["bank\tN\t0-0\tbank loans\tbank loans\n", "bank\tN\t0-0\tbank loans\tbank flooded\n"]
        (folder / f"{part}.data.txt").write_text("".join(rows))
        (folder / f"{part}.gold.txt").write_text("T\nF\n")
    assert_right(WIC, tmp_path)


def test_korean_pairs(tmp_path: Path):
    folder = tmp_path / "external/kobest/kobest/v1.0/WiC"
    folder.mkdir(parents=True)
    rows = ["SENTENCE1\tSENTENCE2\tANSWER", "[눈] 온다\t[눈] 온다\tTrue", "[눈] 온다\t[눈] 아프다\tFalse"]
    for part in ("train", "dev", "test"):
        (folder / f"{part}.tsv").write_text("\n".join(rows), encoding="utf-8")
    assert_right(KOBEST, tmp_path)


def assert_right(reproduction: Reproduction, data: Path):
    assert reproduction.compute is not None and reproduction.details is not None
    paths = reproduction.compute(Request(data, data / "results", ("cues",)))
    scores = {row.row: str(row.cells[0]) for row in reproduction.measure(evidence_of(paths))}
    assert scores["layer 2"] == "100.00" and scores["layer 0"] == "50.00"
    parts, gains = reproduction.details(evidence_of(paths))
    assert parts.columns == ("train", "dev", "test") and parts.about.endswith("Data: 2 / 2 / 2 pairs.")
    assert next(iter(gains.rows)) == "cues (cues): layer 2 over layer 1"
