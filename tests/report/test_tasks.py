"""A user's own runs of tasks: one row per run, the settings that differ, and what ELMo brings."""

import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from elmokit.report.report import write_report
from elmokit.report.tasks import read_task_run
from elmokit.runs.log import read_runs
from elmokit.runs.results_table import read_results
from paper.experiments import ELMO, NO_ELMO, Arm
from toy_planned_runs import write_arm

NER = "named-entities"
MIXES = {"input": {"gamma": 2.0, "weights": [0.2, 0.3, 0.5]}}


def page_of(*runs: Path, folder: Path) -> str:
    """The page, without its second line, which names the folder."""
    write_report(runs, folder / "page")
    title, _, rest = (folder / "page" / "tasks.md").read_text(encoding="utf-8").split("\n\n", 2)
    return f"{title}\n\n{rest}"


def test_the_page_of_a_comparison_over_seeds(tmp_path: Path, snapshot: SnapshotAssertion):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (81, 83, 85), test=(80, 82, 84))
    write_arm(tmp_path / "runs", NER, ELMO, (86, 86, 89), test=(85, 85, 88), mixes=MIXES)
    page = page_of(tmp_path / "runs", folder=tmp_path)
    assert page == snapshot
    assert "+4.00 \\[1.52, 6.48\\]" in page  # gains of 5, 3 and 4: 4 ± 4.303 * 1 / sqrt(3)
    picture = (tmp_path / "page" / "layer-shares.svg").read_text(encoding="utf-8")
    assert "LSTM layer 2" in picture and "input" in picture


def test_a_sweep_is_one_table_with_a_column_for_what_differs(tmp_path: Path):
    for rate in (0.1, 0.3, 0.9):
        write_arm(tmp_path / "runs", NER, Arm("", (f"training.learning_rate={rate}",)), (80 + rate,))
    page = page_of(tmp_path / "runs", folder=tmp_path)
    assert page.count("## ") == 1
    assert "| run | seed | vectors | training.learning\\_rate | development set, f1 | best epoch |" in page
    assert all(f"| 0 | mini-en (01234567) at input | {rate} | {80 + rate:.2f} |" in page for rate in (0.1, 0.3, 0.9))


def test_the_table_of_results_has_a_number_per_row(tmp_path: Path, snapshot: SnapshotAssertion):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (81,), test=(80,), version="0.1.0", commit="0123456789ab")
    write_arm(tmp_path / "runs", NER, ELMO, (86, 86), num_train=100)
    page_of(tmp_path / "runs", folder=tmp_path)
    table = tmp_path / "page" / "results.tsv"
    assert len(read_results(table)) == 4
    assert table.read_text(encoding="utf-8") == snapshot


def test_other_files_are_another_section_and_other_settings_have_no_gain(tmp_path: Path):
    write_arm(tmp_path / "runs", NER, NO_ELMO, (80,))
    write_arm(tmp_path / "runs", NER, Arm("", ("inputs.elmo.position=input", "max_epochs=99")), (86,))
    (other,) = write_arm(tmp_path / "runs" / "other", NER, ELMO, (87,))
    config = other / "config.json"
    config.write_text(config.read_text().replace('"/data/conll2003/train"', '"/new/conll2003/train"'))
    page = page_of(tmp_path / "runs", other, folder=tmp_path)
    assert page.count("## named-entities") == 2 and "| +" not in page
    assert "Files: `new/conll2003/train`, `data/conll2003/dev` (200 training and 50 development examples)." in page


def test_of_two_runs_with_the_same_seed_the_first_counts_and_a_warning_names_both(tmp_path: Path):
    (first,) = write_arm(tmp_path / "a", NER, NO_ELMO, (80,))
    (second,) = write_arm(tmp_path / "b", NER, NO_ELMO, (90,))
    with pytest.warns(UserWarning, match=f"{first} and {second} are runs of the same data, settings and seed; the fi"):
        page = page_of(first, second, first, folder=tmp_path)
    assert "| no ELMo | 0 | 80.00 | – |" in page


def test_a_run_that_has_not_ended_has_its_best_score_so_far(tmp_path: Path):
    (run,) = write_arm(tmp_path / "runs", NER, NO_ELMO, (50,), epochs=((9, 80.5),))
    (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text().splitlines()[0] + "\n")
    page = page_of(tmp_path / "runs", folder=tmp_path)
    assert f"| not finished | best f1 so far |\n|---|---:|\n| {run.name} | 80.5 |" in page


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


def test_a_run_was_still_improving_if_its_best_epoch_is_one_of_the_last_two(tmp_path: Path):
    for best in (1, 2, 3):
        (run,) = write_arm(tmp_path / f"{best}", NER, NO_ELMO, (80,), best_epoch=best)
        assert (f"{best} of 3, still improving" in page_of(run, folder=tmp_path)) == (best > 1)
        log = run / "metrics.jsonl"
        log.write_text(json.dumps(json.loads(log.read_text().splitlines()[-1]) | {"dev": {"recall": 1.0}}))
        with pytest.raises(ValueError, match=r"metrics.jsonl, line 1: has no f1; expected the scores of the task"):
            page_of(run, folder=tmp_path)
