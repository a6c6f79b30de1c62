"""What planned runs leave behind, written by hand for tests of tables: their names and configs are the plan's."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import Splits
from elmokit.tasks.run_folder import TaskRecord, write_record
from paper.plan import DATASETS, SCALES, Arm, Setup
from paper.runs import Evidence, read_evidence

SETUP = Setup(SCALES["cpu"], Path("data"), "mini-en", "01234567", (0, 1, 2))


def write_arm(
    folder: Path,
    dataset: str,
    arm: Arm,
    scores: Sequence[float],
    *,
    test: Sequence[float] | None = None,
    epochs: Sequence[tuple[int, float]] = ((9, 50.0),),
    num_train: int = 200,
    setup: Setup = SETUP,
    **result: Any,
) -> list[Path]:
    """The runs of an arm, one for each score on the development set, and their test scores.

    epochs: updates and score after each epoch. `result` is added to the last line.
    """
    found = DATASETS[dataset]
    metric = find_task(found.task).metric
    data = Path("/data") / Path(found.folder).name
    files = Splits((data / "train",), (data / "dev",), (data / found.test_set,))
    folders: list[Path] = []
    for run, score in zip(setup.runs(dataset, arm), scores, strict=False):
        fingerprint = None if run.config.inputs.elmo is None else setup.fingerprint + "89abcdef"
        counts = {"train": {"examples": num_train}, "dev": {"examples": 50}}
        symbols = ["O", "B-PER"]
        record = TaskRecord(run.task, run.config, symbols, files, fingerprint, counts)
        seed = run.config.training.seed
        tests = {} if test is None else {found.test_set: {metric: test[seed]}}
        lines: list[dict[str, Any]] = [
            {"epoch": number, "step": step, "loss": 1.0, "dev": {metric: reached}}
            for number, (step, reached) in enumerate(epochs, start=1)
        ]
        last = {"epoch": len(lines) + 2, "best_epoch": 1, "result": True, "converged": True, "seconds": 60.0}
        lines.append({**last, "dev": {metric: score}, "test": tests, **result})
        (folder / run.name).mkdir(parents=True)
        write_record(folder / run.name, record)
        (folder / run.name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        folders.append(folder / run.name)
    return folders


def evidence_in(folder: Path) -> Evidence:
    """What tables find in a folder; one that is not there has nothing."""
    return read_evidence(SETUP, [folder] if folder.exists() else [])


def evidence_of(paths: Sequence[Path]) -> Evidence:
    """What tables find in files of results."""
    return Evidence(SETUP, {}, paths)
