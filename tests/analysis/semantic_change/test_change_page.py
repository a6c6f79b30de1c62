"""docs/semantic-change.md: its command and its code run, and print what its comments say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from elmokit.cli.main import main

PAGE = (Path(__file__).parents[3] / "docs" / "semantic-change.md").read_text(encoding="utf-8")
ANIMAL = ["ran under the table", "ate the cheese", "hid from the cat", "slept in its nest", "squeaked", "was caught"]
DEVICE = ["moves the cursor", "has two buttons", "needs no cable", "came with the keyboard", "is wireless", "clicks"]


def test_it_runs_from_top_to_bottom_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    for name, ends in (("earlier", ANIMAL), ("later", DEVICE)):
        lines = [line for number, end in enumerate(ends) for line in (f"the mouse {end} .", f"plane {number} landed .")]
        Path(f"{name}.txt").write_text("\n".join(lines) + "\n")
    Path("words.txt").write_text("mouse mice\nplane\n")
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", PAGE, flags=re.DOTALL):
        if language == "sh":
            program, *arguments = shlex.split(block)
            assert program == "elmokit" and main(arguments) == 0
            assert "mouse, corpus 1, " in capsys.readouterr().out
        else:
            exec(block, {})
            said = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
            assert capsys.readouterr().out.splitlines() == said
    assert Path("change.tsv").read_text().startswith("layer\tword\t") and Path("change.json").exists()
