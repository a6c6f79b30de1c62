"""The code of docs/surprisal.md runs, and what it says of its sentence is what the bundled model gives."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest

import elmokit
from elmokit.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "surprisal.md").read_text(encoding="utf-8")


def test_its_code_runs_from_top_to_bottom(capsys: pytest.CaptureFixture[str]):
    for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(code, {})
    assert capsys.readouterr().out.count("\n") == 10  # nine tokens, and what could come next


def test_the_rank_of_store_is_the_one_on_the_page():
    details = elmokit.SoftmaxDetails(ranks=True)
    (found,) = elmokit.Elmo("mini-en").surprisal(["i am going to the store"], details=details)
    assert found.forward is not None and found.forward.ranks is not None
    said = re.search(r"`store` has rank ([\d,]+) of 98,841", PAGE)
    assert said is not None and int(said[1].replace(",", "")) == found.forward.ranks[found.tokens.index("store")]


def test_its_command_gives_what_could_come_next(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    (words, command) = re.findall(r'^echo "(.*)" \| elmokit (.*)$', PAGE, flags=re.MULTILINE)[0]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(f"{words}\n".encode()))))
    assert main(shlex.split(command)) == 0
    names, *rows = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    last = dict(zip(names, rows[-1], strict=True))
    likeliest = [each.rpartition(":")[0] for each in last["top"].split(" ")]
    said = re.search(r"it expects an unknown word, `(\w+)`, `(\w+)`, `(\w+)`\nand `(\w+)` before it", PAGE)
    assert said is not None and (last["token"], likeliest) == ("</S>", ["<UNK>", *said.groups()])
