"""Korean words with several senses on toy sentences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paper import system_results
from paper.polysemy_ko import BAG, COUNTS, NAME, REPRODUCTION, compute
from paper.published import POLYSEMY_KO
from paper.reproduction import Request
from paper.results import append_result
from toy_planned_runs import evidence_of
from toy_senses import cue_system

SENTENCES = [
    ("eye", ["눈을", "뜨다"]),
    ("eye", ["눈을", "뜨다"]),
    ("snow", ["눈을", "쓸다"]),
    ("snow", ["눈을", "쓸다"]),
]


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr(system_results, "open_system", cue_system)
    folder = tmp_path / "ko/tasks/homonym_ko/homonym_ko"
    folder.mkdir(parents=True)
    rows = [{"word": "눈", "sense": sense, "index": 0, "tokens": tokens} for sense, tokens in SENTENCES]
    for half in ("train", "test"):
        (folder / f"{half}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    examples = [f"잘한다\t{sense}\t0\t잘한다 {cue}" for sense in ("praise", "sarcasm") for cue in (sense, sense)]
    (folder / "demo_seed_examples.tsv").write_text("\n".join(["word\tsense\tindex\ttokens", *examples]))
    return compute(Request(tmp_path, tmp_path / "results", ("cues",)))


def test_context_tells_senses_apart_and_a_static_vector_does_not(paths: list[Path]):
    rows = {row.row: [str(cell) for cell in row.cells] for row in REPRODUCTION.measure(evidence_of(paths))}
    assert rows["layer 2"][:2] == ["100.00", "100.00"] and rows["layer 2"][3] == "100.00"
    assert rows["layer 0"][0] == rows["chance"][0] == "50.00"
    assert rows[BAG][0] == "100.00"
    assert rows[COUNTS] == ["4", "4", "184", "4"]


def test_the_table_says_of_how_many_occurrences_its_shares_are(tmp_path: Path):
    data = "homonyms, same form: 1,136, homonyms: 1,295, list: 8"
    values = {"system": "cues", "is_bilm": False, "fingerprint": "", "data": data, "hits": {}, "texts": {}}
    append_result(tmp_path, NAME, {**values, "rows": {"layer 0": dict.fromkeys(POLYSEMY_KO.columns, 50.0)}})
    counts, _ = REPRODUCTION.measure(evidence_of([tmp_path]))
    assert (counts.row, counts.cells) == (COUNTS, ("1,295", "1,136", "8", None))
