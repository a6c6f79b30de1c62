"""The code on the pages of the integrations that need no large packages runs, from the top to the bottom of a page."""

from pathlib import Path

import pytest

from behind_doors import is_behind_doors
from page_code import run_page

ROOT = Path(__file__).parents[2]
MODULES = {path.stem for path in (ROOT / "src/elmokit/integrations").glob("*.py")}
PAGES = [
    page
    for page in sorted((ROOT / "docs/integrations").glob("*.md"))
    if page.stem in MODULES and not is_behind_doors(page.stem)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    lines = ["We sat on the bank of the river .", "The bank raised its rates .", "A river and its bank ."]
    (tmp_path / "sentences.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_page(f"docs/integrations/{page.name}")
