from __future__ import annotations

from pathlib import Path

import pytest

from elmokit.formats.names import model_name


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("mini-en", "mini-en"),
        ("hf://user/model", "model"),
        ("hf://user/model@main", "model@main"),
        ("bilm/", "bilm"),
        (Path("bilm/inner/.."), "bilm"),
    ],
)
def test_a_model_is_called_as_its_folder_or_as_it_is_on_the_hub(given: str | Path, name: str):
    assert model_name(given) == name


def test_the_name_of_a_path_is_that_of_the_folder_that_it_leads_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "bilm" / "inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert model_name(".") == "inner" and model_name("..") == "bilm"
