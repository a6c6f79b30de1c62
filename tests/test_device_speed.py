import json
from pathlib import Path

import pytest

import device_speed


def test_the_speed_of_each_size_is_measured_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    given = ["device_speed.py", "--sizes", "tiny", "--tokens", "400", "--device", "cpu", "--output"]
    monkeypatch.setattr("sys.argv", [*given, str(tmp_path / "speed.json")])
    device_speed.main()
    rows = json.loads((tmp_path / "speed.json").read_text(encoding="utf-8"))["rows"]
    assert [row["what"] for row in rows] == ["training"] * 3 + ["embedding"] * 2
    assert [row["batch_size"] for row in rows[:3]] == [4, 16, 64]
    assert all(row["tokens_per_second"] > 0 for row in rows)
