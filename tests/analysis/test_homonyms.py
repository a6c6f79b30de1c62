from __future__ import annotations

import json
from pathlib import Path

import pytest

from elmokit.analysis.homonyms import read_recorded
from elmokit.analysis.polysemy import Rate


def test_what_is_recorded_is_read_back(tmp_path: Path):
    rates = {"chance": Rate(90.5, 272, guessed=True), "lstm1": Rate(231.0, 272)}
    assert read_recorded(tmp_path) is None
    (tmp_path / "measurements.json").write_text('{"other": 1, "command": "x"}', encoding="utf-8")
    assert read_recorded(tmp_path) is None
    record = {"chance": {"hits": 90.5, "total": 272, "guessed": True}, "lstm1": {"hits": 231.0, "total": 272}}
    text = json.dumps({"homonym_ko": record, "command": "python bundle.py"})
    (tmp_path / "measurements.json").write_text(text, encoding="utf-8")
    recorded = read_recorded(tmp_path)
    assert recorded is not None and recorded.rates == rates and recorded.same_form == {}
    assert recorded.path == tmp_path / "measurements.json" and recorded.command == "python bundle.py"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ('{"homonym_ko": {}}', "command.*missing"),
        ('{"command": "", "homonym_ko": {"lstm1": 0.8}}', "homonym_ko.lstm1.*expected an object"),
        ('{"command": "", "homonym_ko": {"lstm1": {"total": 2}}}', "homonym_ko.lstm1.hits.*missing"),
        ('{"command": "", "homonym_ko": {"lstm1": {"hits": 3, "total": 2}}}', "hits.*expected 0 to 2"),
        ('{"command": "", "homonym_ko": {"lstm1": {"hits": 0, "total": 0}}}', "total.*expected 1"),
    ],
)
def test_measurements_that_cannot_be_read_are_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "measurements.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_recorded(tmp_path)
