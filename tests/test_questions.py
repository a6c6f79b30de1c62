"""The code of docs/questions.md runs and prints what its comments say, and its table has every precision."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elmokit.layers.packed.linear import PRECISIONS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")


def test_its_code_prints_what_its_comments_say(capsys: pytest.CaptureFixture[str]):
    code = "".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    exec(compile(code, "<docs/questions.md>", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)


def test_it_names_every_precision():
    table = PAGE.partition("| `precision` | |\n")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \| \S", table, flags=re.MULTILINE)) == {*PRECISIONS}
