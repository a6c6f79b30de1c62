"""docs/vectors.md: its commands and its code run from top to bottom, and print what its comments say."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.vectors.files import BY_ENDING

PAGE = (Path(__file__).parents[2] / "docs" / "vectors.md").read_text(encoding="utf-8")


def test_it_runs_from_top_to_bottom_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("sentences.txt").write_text("I sat on the bank .\nIt was very cold .\n\n")
    names: dict[str, object] = {}
    for language, block in re.findall(r"```(python|sh)\n(.*?)```", PAGE, flags=re.DOTALL):
        if language == "sh":
            program, *arguments = shlex.split(block)
            assert program == "elmokit" and main(arguments) == 0
            capsys.readouterr()
        else:
            exec(block, names)
            said = re.findall(r"^ *print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
            shown = capsys.readouterr().out.splitlines()
            assert shown == [comment.rpartition(":")[0] or comment for comment in said]
    assert names["lengths"] == [6, 5, 0]


def test_it_names_every_ending():
    (table,) = re.findall(r"## Layouts\n\n(.*?)\n\n", PAGE, flags=re.DOTALL)
    assert set(re.findall(r"`(\.h?\w+)`", table)) == {*BY_ENDING}
