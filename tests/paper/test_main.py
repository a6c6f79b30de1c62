"""`python -m paper`: tables by name, and what is refused before anything is trained or computed."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tabel1"], "no reproduction 'tabel1'; did you mean table1?"),
        (["train", "table1", "tabel2"], "tabel2: `train` takes the names of tables alone; give runs with --finished"),
        (["train", "wic"], "wic: no runs are trained for it; `python -m paper NAME` measures it"),
        (["train", "table1", "--jobs", "0"], "0 jobs; expected at least 1"),
        (["train", "table1", "--seeds", "0"], "0 seeds; expected at least 1"),
        (["table2", ".", "--model", "a", "--model", "b"], "2 models; table2 is made of training runs, which take one"),
        (["wic", ".", "--model", "mini-en"], "give either the paths of results or the models to measure, not both"),
        (
            ["table2", "--results", "none"],
            "none have no runs of `elmokit train` of its arms; `python -m paper train",
        ),
        (
            ["table5", "--data", "none", "--results", "r"],
            "wsd_raganato: there is no such folder; CONTRIBUTING.md",
        ),
        *(([*verb, "-o", "file"], "is not a folder; choose another") for verb in (["table1"], ["wic"], ["page", "."])),
    ],
)
def test_what_cannot_be_made_is_refused(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert Path("file").read_text() == "mine"


def test_the_plan_is_listed_with_its_time_and_with_all_data_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    given = ["--seeds", "1", "--data", str(tmp_path), "--results", str(tmp_path / "runs")]
    assert main(["train", "figure2", "table3", *given, "--dry-run"]) == 2
    listed = capsys.readouterr()
    *runs, total = listed.out.splitlines()
    assert total.startswith(f"{len(runs)} of {len(runs)} runs are not finished: about ")
    assert sum("-none-" in run for run in runs) == 5 and any("sentiment-cpu-elmo-" in run for run in runs)
    for missing in ("conll2003: there is no such folder", "sst: there", "glove.6B.50d.100k.txt.gz: there is no such"):
        assert missing in listed.err
    assert "CONTRIBUTING.md (Data) says where" in listed.err
    assert main(["train", "figure2", "table3", *given]) == 2  # before the first run
    assert capsys.readouterr().err == listed.err and not (tmp_path / "runs").exists()
