"""The code on the pages of the integrations that are tested here runs, from the top to the bottom of a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from behind_doors import is_behind_doors

PAGES = [
    page
    for page in sorted((Path(__file__).parents[2] / "docs/integrations").glob("*.md"))
    if is_behind_doors(page.stem)
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert blocks
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, f"<{page.name}>", "exec"), names)
