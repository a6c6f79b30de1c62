"""`python -m paper`: tables by name, and what is refused before anything is trained."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.__main__ import main


def test_pages_go_into_a_folder_that_is_known_to_work_before_anything_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def train(*_: object) -> None:
        raise AssertionError("trained before the output was looked at")

    monkeypatch.setattr("paper.train.train_for", train)
    (tmp_path / "file").write_text("mine")
    for arguments in (["table1"], ["figure1", str(tmp_path)], ["page", str(tmp_path)]):
        for folder in (tmp_path / "file", tmp_path / "file" / "docs"):
            assert main([*arguments, "-o", str(folder)]) == 2
            assert f"{folder}: {tmp_path / 'file'} is not a folder; choose another" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_plan_is_of_tables_alone(capsys: pytest.CaptureFixture[str]):
    assert main(["table1", "tabel2", "--dry-run"]) == 2
    assert "tabel2: --dry-run lists what would be trained, which takes names of" in capsys.readouterr().err


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]):
    assert main(["tabel1"]) == 2
    assert "no reproduction 'tabel1'; did you mean table1?" in capsys.readouterr().err


def test_paths_and_models_to_measure_exclude_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["wic", str(tmp_path), "--model", "mini-en"]) == 2
    assert "give either the paths of results or the models to measure, not both" in capsys.readouterr().err


def test_the_plan_is_listed_with_its_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    given = ["--seeds", "1", "--data", str(tmp_path), "--results", str(tmp_path), "--dry-run"]
    assert main(["figure2", "table3", *given]) == 0
    *runs, total = capsys.readouterr().out.splitlines()
    assert total.startswith(f"{len(runs)} of {len(runs)} runs are not finished: about ")
    assert sum("-none-" in run for run in runs) == 5 and any("sentiment-cpu-elmo-" in run for run in runs)
