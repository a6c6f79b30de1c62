"""The code on the pages of the integrations that are tested here runs, from the top to the bottom of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from behind_doors import is_behind_doors
from page_code import run_page

PAGES = [
    page
    for page in sorted((Path(__file__).parents[2] / "docs/integrations").glob("*.md"))
    if is_behind_doors(page.stem)
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_page(f"docs/integrations/{page.name}")
