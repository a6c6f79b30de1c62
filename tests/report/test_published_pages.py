"""The pages in docs/ are what the experiments' runs give; an edit by hand, or a changed generator, is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.report.pages import write_report

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    not (ROOT / "experiments").is_dir(), reason="the experiments are in the repository, not in the source distribution"
)


@pytest.mark.parametrize(
    ("experiments", "page"),
    [(("2026-11-21-tasks", "2026-11-22-reproduce"), "results.md"), (("2026-11-20-mini-ko",), "training.md")],
)
def test_a_page_in_docs_is_what_its_command_writes(
    experiments: tuple[str, ...], page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(ROOT)
    write_report([Path("experiments", name) for name in experiments], tmp_path)
    written = (tmp_path / page).read_text(encoding="utf-8").replace(f"-o {tmp_path}", "-o docs")
    assert written == (ROOT / "docs" / page).read_text(encoding="utf-8")
