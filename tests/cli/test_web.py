from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from toy_bilm import random_bilm


def test_the_demo_of_a_model_is_written_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_native(tmp_path / "model", to_stored(random_bilm()))
    page = tmp_path / "page.html"
    assert main(["demo", "--model", str(tmp_path / "model"), "--html", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "elmokit demo: model, " in shown and f"The same with pictures: {page}" in shown
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_the_pages_of_explore_are_removed_when_its_terminal_is_closed(name: str, tmp_path: Path):
    write_native(tmp_path / "model", to_stored(random_bilm()))
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "elmokit", "explore", "--no-browser", "--model", str(tmp_path / "model")]
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None and process.stdout.readline().startswith(b"http://127.0.0.1:")
        assert list((tmp_path / "temporary").iterdir())
        process.send_signal(getattr(signal, name))
    assert process.returncode == 0 and not list((tmp_path / "temporary").iterdir())
