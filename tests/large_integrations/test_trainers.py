"""docs/embedding.md: its model in the Trainer of transformers, in accelerate and in Lightning, if installed."""

import re
from pathlib import Path
from typing import Any

import pytest

from page_code import read_page

BLOCKS = re.findall(
    r"^```python( \{\.hf\})?\n(.*?)^```", read_page("docs/embedding.md"), flags=re.DOTALL | re.MULTILINE
)
TRAINERS = {
    re.findall(r"^(?:from|import) (\w+)", block, flags=re.MULTILINE)[0]: block for marked, block in BLOCKS if marked
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", TRAINERS)
def test_the_model_trains(package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip(package)
    pytest.importorskip("accelerate")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in [*(block for marked, block in BLOCKS if not marked), TRAINERS[package]]:
        exec(compile(block, "<docs/embedding.md>", "exec"), names)
    assert names["model"].elmo.mixes[0].weights.requires_grad
