"""The examples and pages of the large integrations run, in an environment with our pinned versions."""

import importlib.metadata
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer

from elmokit.elmo.elmo import Elmo
from elmokit.integrations.sklearn import ElmoVectorizer
from page_code import ROOT, needs_large_packages, read_page, run_page
from toy_bilm import random_bilm

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


def pinned(file: str) -> dict[str, str]:
    lines = (Path(__file__).parents[2] / file).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if "==" in line)


def test_what_we_depend_on_has_the_version_of_the_other_tests_and_torch_is_the_one_for_the_cpu():
    ours, theirs = pinned("constraints.txt"), pinned("constraints-integrations.txt")
    for package in ("torch", "numpy", "h5py", "tqdm", "jinja2", "filelock"):
        assert theirs[package] == ours[package]
        assert importlib.metadata.version(package).partition("+")[0] == ours[package]
    assert not [name for name in theirs if name.startswith("nvidia")]


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


TABLE = pd.DataFrame({"text": ["A good film.", "A bad one."], "stars": [5, 1]}, index=["first", "second"])


def test_a_table_keeps_its_rows_and_has_the_names_of_the_features():
    vectorizer = ElmoVectorizer(Elmo(random_bilm()), device="cpu")
    plain = vectorizer.fit_transform(TABLE["text"])
    columns = make_column_transformer((vectorizer, "text"), remainder="passthrough").set_output(transform="pandas")
    table = columns.fit_transform(TABLE)
    assert list(table.index) == ["first", "second"]
    names = [f"elmovectorizer__elmovectorizer{number}" for number in range(12)]
    assert list(table.columns) == [*names, "remainder__stars"]
    np.testing.assert_allclose(table[names].to_numpy(), plain, atol=1e-6)
