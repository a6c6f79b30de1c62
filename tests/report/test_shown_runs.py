import json
from pathlib import Path

import pytest

from elmokit.cli.main import main
from elmokit.report.pages import write_report
from elmokit.report.shown_runs import shown_runs


def make_run(folder: Path, *, num_lines: int) -> Path:
    folder.mkdir(parents=True)
    lines = [
        {"step": step, "num_tokens": 100 * step, "seconds": 1.0, "losses": [5.0, 5.0]} for step in range(num_lines)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_what_cannot_be_shown_is_left_out_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    long, short = make_run(tmp_path / "long", num_lines=3), make_run(tmp_path / "short", num_lines=1)
    assert main(["report", str(long), str(short), str(tmp_path / "none"), "-o", str(tmp_path / "page")]) == 0
    warned = capsys.readouterr().err
    assert "warning: left out: " in warned and "short has logged 1 training lines, and a curve needs 2" in warned
    assert f"left out: no run {tmp_path / 'none'}" in warned
    page = (tmp_path / "page" / "training.md").read_text()
    assert "long" in page and "| short" not in page


def test_nothing_to_show_is_an_error(tmp_path: Path):
    with pytest.raises(ValueError, match="short has logged 1 training lines"):
        shown_runs([make_run(tmp_path / "short", num_lines=1)])
    with pytest.raises(FileNotFoundError, match="no run"):
        shown_runs([tmp_path / "none", tmp_path / "short"])


def test_a_young_run_and_notes_in_a_folder_do_not_hide_the_others(tmp_path: Path):
    long, young = make_run(tmp_path / "runs" / "long", num_lines=3), make_run(tmp_path / "runs" / "young", num_lines=1)
    for folder in (young, tmp_path / "runs"):
        (folder / "README.md").write_text("# not JSON")
    shown, left_out = shown_runs([long, young])
    assert shown == [long] and "young has logged 1 training lines" in left_out[0]
    assert shown_runs([tmp_path / "runs"])[0] == [long]
    (young / "metrics.jsonl").write_text("no JSON\n{}\n")
    shown, left_out = shown_runs([tmp_path / "runs"])
    assert shown == [long] and "metrics.jsonl, line 1" in left_out[0]


def test_names_of_runs_are_as_they_are_in_the_figure(tmp_path: Path):
    names = ["_draft", r"a$\foo$", "a|b <&>"]
    write_report([make_run(tmp_path / name, num_lines=3) for name in names], tmp_path / "page")
    picture = (tmp_path / "page" / "training-curve.svg").read_text(encoding="utf-8")
    assert "_draft: training" in picture and r"a$\foo$: training" in picture
    assert "a|b &lt;&amp;&gt;: training" in picture
    assert "| a\\|b \\<&\\> |" in (tmp_path / "page" / "training.md").read_text(encoding="utf-8")
