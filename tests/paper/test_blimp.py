"""Minimal pairs of BLiMP, in the small."""

import json
from pathlib import Path

import pytest

from paper import blimp
from paper.blimp import right_answers
from paper.reproduction import Request
from toy_language_model import write_toy

PAIRS = {"one": [("a b.", "b a."), ("c", "a c")], "two": [("b a.", "a b.")]}


def test_each_paradigm_is_scored_once_for_the_same_pairs(tmp_path: Path):
    folder = tmp_path / "data" / "external" / "blimp" / "data"
    folder.mkdir(parents=True)
    for name, pairs in PAIRS.items():
        of_all = {"UID": name, "linguistics_term": "order"}
        lines = [{"sentence_good": good, "sentence_bad": bad, **of_all} for good, bad in pairs]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    request = Request(tmp_path / "data", tmp_path / "results", (str(write_toy(tmp_path / "toy")),))
    blimp.compute(request)
    path = tmp_path / "results" / "results.jsonl"
    ((model, paradigms),) = right_answers([path]).items()
    assert model.startswith("toy (") and list(paradigms) == ["order: one", "order: two"]
    path.write_text(path.read_text().splitlines()[0] + "\n")
    path.write_text(path.read_text() + '{"reproduction": "blimp", "model')  # a process was killed while it wrote
    for _ in range(2):
        blimp.compute(request)
        assert right_answers([path]) == {model: paradigms} and len(path.read_text().splitlines()) == 2

    pairs = folder / "one.jsonl"
    text = pairs.read_text()
    pairs.write_text(text.splitlines()[0] + "\n")  # other data of the name
    blimp.compute(request)
    assert right_answers([path])[model]["order: one"]["both"].total == 1
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:2]))
    for damaged, message in (
        ("", " has nothing that"),
        (text[:-9], ", line 2: is not valid JSON"),
        ("{}", ", line 1: "),
    ):
        pairs.write_text(damaged)
        with pytest.raises(ValueError, match=rf"one\.jsonl{message}"):
            blimp.compute(request)
