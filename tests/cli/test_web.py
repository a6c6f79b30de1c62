from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.model.formats.native import write_native
from elmokit.model.formats.read import to_stored
from toy_bilm import random_bilm


def test_the_demo_of_a_model_is_written_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_native(tmp_path / "model", to_stored(random_bilm()))
    page = tmp_path / "page.html"
    assert main(["demo", "--model", str(tmp_path / "model"), "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "elmokit demo: model, " in shown and f"The same with pictures: {page}" in shown
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
