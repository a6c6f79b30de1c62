"""The code of docs/embedding.md runs, and its table has the arguments of `ElmoEmbedding`."""

import inspect
import re
from pathlib import Path

import pytest

from elmokit.elmo.embedding import ElmoEmbedding

PAGE = (Path(__file__).parents[1] / "docs" / "embedding.md").read_text(encoding="utf-8")


def test_its_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(code, names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "small.safetensors"]
    assert (tmp_path / "small.safetensors").stat().st_size < 10_000
    batches = names["batches"]
    assert len(list(batches)) == 1  # type: ignore[call-overload]


def test_its_table_has_every_argument():
    documented = set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE))
    arguments = set(inspect.signature(ElmoEmbedding.from_pretrained).parameters)
    assert documented == arguments - {"name_or_path", "weights"}
