"""Examples and pages of the integrations that are tested here: their code runs from the top to the bottom."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import pytest

from page_code import ROOT, needs_large_packages, run_page

EXAMPLES = sorted(filter(needs_large_packages, ROOT.glob("examples/integrations/*.py")))
PAGES = sorted(filter(needs_large_packages, ROOT.glob("docs/integrations/*.md")))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs_in_an_empty_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 70
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as for a script
        runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out.splitlines()) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    run_page(f"docs/integrations/{page.name}")
