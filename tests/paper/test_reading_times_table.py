"""Reading times in the small: each model is measured once, and its rows are read back."""

from __future__ import annotations

import json
from pathlib import Path

from paper.reading_times_table import compute, our_rows
from paper.reproduction import Request
from toy_language_model import write_toy
from toy_planned_runs import evidence_of


def test_each_model_is_measured_once_and_becomes_rows(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "external" / "natural_stories" / "ns"
    folder.mkdir(parents=True)
    words = [(word, zone, item) for item in (1, 2) for zone, word in enumerate("abcabacbabca"[::item], start=1)]
    lines = [f"{word}\t{zone}\t{item}\n" for word, zone, item in words]
    (folder / "all_stories.tok").write_text("".join(["word\tzone\titem\n", *lines]))
    times = [f"{word}\t{zone}\t{item}\t80\t{300 + zone * zone % 37}\t1\t1\t1\n" for word, zone, item in words]
    (folder / "processed_wordinfo.tsv").write_text("".join(["header\n", *times]))
    request = Request(tmp_path / "data", tmp_path / "results", (str(write_toy(tmp_path / "toy")),))
    (path,) = compute(request)
    (record,) = map(json.loads, path.read_text().splitlines())
    assert (record["model"], record["num_words"]) == ("toy", 14)
    compute(request)
    assert len(path.read_text().splitlines()) == 1
    rows = our_rows(evidence_of([path]))
    model = f"toy ({record['fingerprint'][:8]})"
    assert [row.row for row in rows] == [f"{model}, forward", f"{model}, backward", f"{model}, both"]
    mean, error = record["added"]["forward"]
    assert rows[0].cells == (f"{mean:.4f} ± {error:.4f}",)
