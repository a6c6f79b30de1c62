"""Reports of pretraining runs: what the figure draws, what the tables say, and which logs are refused."""

import json
import math
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.cli.main import main
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.record import RunRecord, write_record
from elmokit.report import report
from elmokit.report.report import write_report
from elmokit.report.tasks import read_task_run
from elmokit.report.training import LoggedLosses, RunHistory, read_history, training_curve, training_figure
from elmokit.runs.log import read_runs
from elmokit.runs.results_table import read_results
from paper.experiments import ELMO, NO_ELMO, Arm
from toy_planned_runs import write_arm

ROOT = Path(__file__).parents[2]
TRAINED = [(500_000, 1000.0), (1_000_000, 200.0), (2_000_000, 100.0)]
SETTINGS = recipe("mini", ["num_steps=2500"])
MEASURED = [(1_000_000, 300.0), (1_500_000, 250.0), (2_000_000, 260.0)]


def trained(num_tokens: int, perplexity: float) -> dict[str, Any]:
    """A line of the log; forward is 0.5 nats below the mean, and backward is 0.5 nats above it."""
    loss = math.log(perplexity)
    losses = [loss - 0.5, loss + 0.5]
    return {"step": num_tokens // 1000, "num_tokens": num_tokens, "losses": losses, "seconds": num_tokens / 500}


def measured(num_tokens: int, mean: float) -> dict[str, Any]:
    heldout = {"forward": mean - 10, "backward": mean + 10, "mean": mean}
    return {"step": num_tokens // 1000, "num_tokens": num_tokens, "seconds": 1.0, "heldout": heldout}


def make_run(folder: Path, *records: dict[str, Any], config: PretrainingConfig | None = None) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    if config is not None:
        write_record(folder, RunRecord(config, []))
    return folder


def short_run(folder: Path, *, num_lines: int = 3, config: PretrainingConfig | None = None) -> Path:
    return make_run(folder, *(trained(*one) for one in TRAINED[:num_lines]), config=config)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    lines = [*(trained(*one) for one in TRAINED), *(measured(*one) for one in MEASURED)]
    return make_run(tmp_path / "mine", *sorted(lines, key=lambda line: line["step"]), config=SETTINGS)


def page_of(*runs: Path, folder: Path) -> str:
    write_report(runs, folder)
    return (folder / "training.md").read_text(encoding="utf-8")


def history_of(run: Path) -> RunHistory:
    (logged,) = read_runs([run])
    return read_history(logged)


def row_of(page: str, start: str, *, number: int = 0) -> list[str]:
    rows = [line for line in page.splitlines() if line.startswith(f"| {start} |")]
    return [cell.strip() for cell in rows[number].strip("|").split("|")]


def test_lines_have_the_numbers_of_the_log_and_one_that_overflowed_is_at_the_top(run: Path):
    history = history_of(run)
    (axes,) = training_figure([history]).axes
    training, heldout = axes.lines
    assert list(training.get_xdata()) == [0.5, 1.0, 2.0]
    assert list(training.get_ydata()) == pytest.approx([1000.0, 200.0, 100.0])
    assert (list(heldout.get_xdata()), list(heldout.get_ydata())) == ([1.0, 1.5, 2.0], [300.0, 250.0, 260.0])
    assert axes.get_yscale() == "log"
    diverged = [*history.training, LoggedLosses(3000, 3_000_000, 1.0, (1e6, 1e6))]
    (axes,) = training_figure([replace(history, training=diverged)]).axes
    assert axes.lines[0].get_ydata()[-1] == 1e30
    assert training_curve([history]) == training_curve([history])


@pytest.mark.parametrize("softmax", ["sampled", "full", None])
def test_only_a_sampled_softmax_is_warned_about(softmax: str | None, tmp_path: Path):
    config = None if softmax is None else replace(SETTINGS, softmax=softmax)
    run = short_run(tmp_path / "run", config=config)
    assert ("not comparable" in page_of(run, folder=tmp_path / "docs")) == (softmax == "sampled")
    picture = (tmp_path / "docs" / "training-curve.svg").read_text(encoding="utf-8")
    assert (f"run: training, {softmax} softmax" if softmax else "run: training, softmax unknown") in picture


def test_a_forward_model_has_one_direction_and_a_log_by_itself_no_settings(tmp_path: Path, run: Path):
    lines = [trained(tokens, 9.0) | {"losses": [5.0]} for tokens in (1000, 2000)]
    heldout = {"heldout": {"forward": 200.0, "backward": None, "mean": 200.0}}
    single = make_run(tmp_path / "single", *lines, measured(2000, 200.0) | heldout)
    page = page_of(single, folder=tmp_path / "docs")
    assert row_of(page, "single")[-2:] == ["5.000", "–"]
    assert row_of(page, "single", number=1)[1:5] == ["2", "200.0", "–", "200.0"]
    (run / "config.json").unlink()
    page = page_of(run / "metrics.jsonl", folder=tmp_path / "docs")
    assert row_of(page, "mine")[:2] == ["mine", "2,000"]
    assert "learning rate" not in page


def test_a_line_that_is_still_being_written_is_left_out_with_a_warning(run: Path):
    whole = history_of(run)
    path = run / "metrics.jsonl"
    text = path.read_text()
    path.write_text(text + '{"step": 2100, "num_to')
    with pytest.warns(UserWarning, match=r"mine: the last line of its log is incomplete"):
        assert history_of(run) == whole
    path.write_text(text.rstrip("\n"))
    assert history_of(run) == whole


LINE, SECOND = (json.dumps(trained(num_tokens, 9.0)) for num_tokens in (500_000, 1_000_000))
HELD_OUT = '"heldout": {"forward": 9, "mean": 0}'


@pytest.mark.parametrize(
    ("log", "config", "message"),
    [
        (None, None, "has no metrics.jsonl and no runs.jsonl, and no folder in it is a run"),
        ("", None, "run has logged 0 training lines, and a curve needs 2"),
        (f'{LINE}\n{{"step": 1}}\n', None, "line 2: step 1 follows step 500; expected the lines of one run in order"),
        (f'{LINE}\n{{"step": 600}}\n', None, "line 2: has neither losses nor heldout; expected"),
        (f"{LINE[:-1]}, {HELD_OUT}}}\n", None, "line 1: field heldout: field mean: expected"),
        (f"{LINE}\n{SECOND}\n", {"shards": [], "unheard": 1}, "config.json: pretraining: field unheard is not known"),
    ],
)
def test_what_is_no_run_or_has_a_bad_log_is_refused_and_nothing_is_written(
    log: str | None, config: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    run = make_run(tmp_path / "run", config=SETTINGS if config else None)
    (run / "metrics.jsonl").unlink()
    if log is not None:
        (run / "metrics.jsonl").write_text(log)
    if config is not None:
        record = json.loads((run / "config.json").read_text()) | {"pretraining": config}
        (run / "config.json").write_text(json.dumps(record))
    assert main(["report", str(run), "-o", str(tmp_path / "docs")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


@pytest.mark.skipif(not (ROOT / "experiments").is_dir(), reason="the source distribution has no experiments")
def test_the_page_in_docs_is_what_its_command_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    published = (ROOT / "docs" / "results" / "training.md").read_text(encoding="utf-8")
    found = re.search("Generated by `elmokit report (.*) -o docs/results`", published)
    assert found is not None
    page = page_of(*map(Path, shlex.split(found[1])), folder=tmp_path)
    assert page.replace(f"-o {tmp_path}", "-o docs/results") == published


def test_without_matplotlib_the_page_says_how_to_get_it(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="pictures need matplotlib: pip install 'elmokit\\[plots\\]'"):
        written, _ = write_report([run], tmp_path / "docs")
    assert [path.name for path in written] == ["training.md"]
    page = written[0].read_text(encoding="utf-8")
    assert "pip install 'elmokit[plots]'" in page and "training-curve.svg" not in page
    assert row_of(page, "mine")[1] == "2,000 of 2,500"


def test_a_folder_of_both_kinds_of_runs_makes_both_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_arm(tmp_path / "runs", "named-entities", NO_ELMO, (80, 81))
    short_run(tmp_path / "runs" / "pretrained")
    assert main(["report", str(tmp_path / "runs"), "-o", str(tmp_path / "both")]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["training-curve.svg", "training.md", "tasks.md", "results.tsv"]


def test_pages_go_into_a_folder(run: Path, tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "file" / "docs"):
        with pytest.raises(NotADirectoryError, match=rf"{folder}: {tmp_path}/file is not a folder; choose another"):
            write_report([run], folder)
    assert (tmp_path / "file").read_text() == "mine"


def test_what_cannot_be_shown_is_left_out_and_named_and_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    runs, page = tmp_path / "runs", tmp_path / "page"
    long, young = short_run(runs / "long"), short_run(runs / "young", num_lines=1)
    assert main(["report", str(long), str(young), str(tmp_path / "none"), "-o", str(page)]) == 1
    warned = capsys.readouterr().err
    assert "warning: left out: " in warned and "young has logged 1 training lines, and a curve needs 2" in warned
    assert f"left out: no run {tmp_path / 'none'}" in warned
    assert "long" in (text := (page / "training.md").read_text()) and "| young" not in text
    with pytest.raises(FileNotFoundError, match="no run"):  # nothing is left to show
        write_report([tmp_path / "none", young], page)
    for folder in (young, runs):
        (folder / "README.md").write_text("# not JSON")
    (young / "metrics.jsonl").write_text("no JSON\n{}\n")
    with pytest.warns(UserWarning, match=r"left out: .*young/metrics\.jsonl, line 1"):
        assert "| long |" in page_of(runs, folder=page)
    (runs / "runs.jsonl").write_text("no JSON\n")
    assert main(["report", str(runs), "-o", str(tmp_path / "other")]) == 1
    assert f"left out: {runs / 'runs.jsonl'}, line 1" in capsys.readouterr().err
    assert "| long |" in (tmp_path / "other" / "training.md").read_text()
    (old,) = read_runs([short_run(tmp_path / "old")])
    line = {"name": old.name, "config": old.config, "metrics": [record.values for record in old.records]}
    (runs / "runs.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.warns(UserWarning, match=r"left out: .*young/metrics\.jsonl, line 1") as warned:
        shown = page_of(runs, folder=page)
    assert "| old |" in shown and "| long |" in shown and len(warned) == 1


def test_names_of_runs_are_as_they_are_in_the_figure_and_equal_ones_are_told_apart(run: Path, tmp_path: Path):
    names = ["_draft", r"a$\foo$", "a|b <&>"]
    page = page_of(*(short_run(tmp_path / name) for name in names), folder=tmp_path / "page")
    picture = (tmp_path / "page" / "training-curve.svg").read_text(encoding="utf-8")
    assert "_draft: training" in picture and r"a$\foo$: training" in picture
    assert "a|b &lt;&amp;&gt;: training" in picture
    assert "| a\\|b \\<&\\> |" in page
    page = page_of(run, other_run := short_run(tmp_path / "old" / "mine"), folder=tmp_path / "page")
    one, other = (row_of(page, str(path).replace("_", "\\_")) for path in (run, other_run))
    assert one != other


NER = "named-entities"
MIXES = {"input": {"gamma": 2.0, "weights": [0.2, 0.3, 0.5]}}


def tasks_page(*runs: Path, folder: Path) -> str:
    """The page, without its second line, which names the folder."""
    write_report(runs, folder / "page")
    title, _, rest = (folder / "page" / "tasks.md").read_text(encoding="utf-8").split("\n\n", 2)
    return f"{title}\n\n{rest}"


def test_the_page_of_a_comparison_over_seeds(tmp_path: Path, snapshot: SnapshotAssertion):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (81, 83, 85), test=(80, 82, 84))
    write_arm(tmp_path / "runs", NER, ELMO, (86, 86, 89), test=(85, 85, 88), mixes=MIXES)
    page = tasks_page(tmp_path / "runs", folder=tmp_path)
    assert page == snapshot
    assert "+4.00 \\[1.52, 6.48\\]" in page  # gains of 5, 3 and 4: 4 ± 4.303 * 1 / sqrt(3)
    picture = (tmp_path / "page" / "layer-shares.svg").read_text(encoding="utf-8")
    assert "LSTM layer 2" in picture and "input" in picture


def test_a_sweep_is_one_table_with_a_column_for_what_differs(tmp_path: Path):
    for rate in (0.1, 0.3, 0.9):
        write_arm(tmp_path / "runs", NER, Arm("", (f"training.learning_rate={rate}",)), (80 + rate,))
    page = tasks_page(tmp_path / "runs", folder=tmp_path)
    assert page.count("## ") == 1
    assert "| run | seed | vectors | training.learning\\_rate | development set, f1 | best epoch |" in page
    assert all(f"| 0 | mini-en (01234567) at input | {rate} | {80 + rate:.2f} |" in page for rate in (0.1, 0.3, 0.9))


def test_the_table_of_results_has_a_number_per_row(tmp_path: Path, snapshot: SnapshotAssertion):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (81,), test=(80,), version="0.1.0", commit="0123456789ab")
    write_arm(tmp_path / "runs", NER, ELMO, (86, 86), num_train=100)
    tasks_page(tmp_path / "runs", folder=tmp_path)
    table = tmp_path / "page" / "results.tsv"
    assert len(read_results(table)) == 4
    assert table.read_text(encoding="utf-8") == snapshot


def test_other_files_are_another_section_and_other_settings_have_no_gain(tmp_path: Path):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (80,))
    write_arm(tmp_path / "runs", NER, Arm("", ("inputs.elmo.position=input", "max_epochs=99")), (86,))
    (other,) = write_arm(tmp_path / "runs" / "other", NER, ELMO, (87,))
    config = other / "config.json"
    config.write_text(config.read_text().replace('"/data/conll2003/train"', '"/new/conll2003/train"'))
    page = tasks_page(tmp_path / "runs", other, folder=tmp_path)
    assert page.count("## named-entities") == 2 and "| +" not in page
    assert "Files: `new/conll2003/train`, `data/conll2003/dev` (200 training and 50 development examples)." in page


def test_of_two_runs_with_the_same_seed_the_first_counts_and_a_warning_names_both(tmp_path: Path):
    (first,) = write_arm(tmp_path / "a", NER, NO_ELMO, (80,))
    (second,) = write_arm(tmp_path / "b", NER, NO_ELMO, (90,))
    with pytest.warns(UserWarning, match=f"{first} and {second} are runs of the same data, settings and seed; the fi"):
        page = tasks_page(first, second, first, folder=tmp_path)
    assert "| no ELMo | 0 | 80.00 | – |" in page


@pytest.mark.parametrize(
    ("changes", "stopped_by"),
    [
        ({"stopped_by": "patience"}, "patience"),
        *(({"converged": has_waited}, "patience" if has_waited else "max_epochs") for has_waited in (True, False)),
        *(({"converged": None, "epoch": epoch}, stop) for epoch, stop in ((3, "max_epochs"), (99, "patience"))),
    ],
)
def test_what_stopped_a_run_is_said_by_earlier_versions_too(changes: dict[str, Any], stopped_by: str, tmp_path: Path):
    (run,) = write_arm(tmp_path / "runs", NER, ELMO, (86,), mixes=MIXES, **changes)
    (logged,) = read_runs([run])
    result = read_task_run(logged).result
    assert result is not None and result.stopped_by == stopped_by
    assert result.mixes["input"].shares == (0.2, 0.3, 0.5)


def test_a_run_was_still_improving_if_its_best_epoch_is_one_of_the_last_two_or_has_not_ended(tmp_path: Path):
    for best in (1, 2, 3):
        (run,) = write_arm(tmp_path / f"{best}", NER, NO_ELMO, (80,), best_epoch=best, epochs=((9, 80.5),))
        assert (f"{best} of 3, still improving" in tasks_page(run, folder=tmp_path)) == (best > 1)
        log = run / "metrics.jsonl"
        first, last = log.read_text().splitlines()
        log.write_text(json.dumps(json.loads(last) | {"dev": {"recall": 1.0}}))
        with pytest.raises(ValueError, match=r"metrics.jsonl, line 1: has no f1; expected the scores of the task"):
            tasks_page(run, folder=tmp_path)
        log.write_text(f"{first}\n")
        page = tasks_page(run, folder=tmp_path)
        assert f"| not finished | best f1 so far |\n|---|---:|\n| {run.name} | 80.5 |" in page
