"""The notebook in `examples`: its cells run from top to bottom, its links lead somewhere, and it is committed clean."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "examples" / "first_five_minutes.ipynb"
NOTEBOOK = json.loads(PATH.read_text(encoding="utf-8"))


def sources(kind: str) -> list[str]:
    return ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow
def test_its_cells_run_from_top_to_bottom(forks: Any, tmp_path: Path):
    ends = [source.splitlines()[-1] for source in sources("code")]
    shown = [f"\nprint({end})" if end.isidentifier() else "" for end in ends]  # as a notebook shows it
    script = "\n".join(source + printed for source, printed in zip(sources("code"), shown, strict=True))
    done = forks.run_script(script, folder=tmp_path, XDG_CACHE_HOME=str(tmp_path), TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "<Elmo 'small-en'" in done.stdout
    assert "<TaggedText 'Tom works for Apple in China.'" in done.stdout
    assert "warning" not in done.stderr.lower()


def test_it_is_committed_without_outputs():
    assert NOTEBOOK["nbformat"] == 4
    assert all(
        not cell["outputs"] and cell["execution_count"] is None for cell in NOTEBOOK["cells"] if "outputs" in cell
    )
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])


def test_its_links_lead_somewhere_and_it_imports_public_names_only():
    targets = [target for text in sources("markdown") for target in re.findall(r"\]\(([^)]+)\)", text)]
    assert len(targets) >= 5
    assert all((PATH.parent / target).exists() for target in targets)
    for source in sources("code"):
        assert "elmokit." not in source.replace("`elmokit", "")
