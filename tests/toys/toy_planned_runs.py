"""Files of finished experiments, written by hand for tests of tables, with the names and configs of the plan."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmokit.tasks.config import Splits
from elmokit.tasks.run import TaskRecord, write_record
from paper.experiments import DATASETS, FIXED_EPOCHS, MODEL, Arm, Experiment, Training
from paper.train import PlannedRun, Setup, fingerprint_of

FINGERPRINT = "01234567"


def planned(dataset: str, arm: Arm, training: Training = FIXED_EPOCHS, *, model: str = MODEL) -> list[PlannedRun]:
    """The planned runs of an arm; FINGERPRINT replaces the fingerprint of the biLM."""
    experiment = Experiment((dataset,), (arm,), training, (model,), tests=True)
    runs = Setup(Path("data")).runs_of("table1", experiment)
    own = fingerprint_of(model)
    return [
        replace(run, name=run.name.replace(own, FINGERPRINT), fingerprint=run.fingerprint.replace(own, FINGERPRINT))
        for run in runs
    ]


def write_arm(
    folder: Path,
    dataset: str,
    arm: Arm,
    scores: Sequence[float],
    *,
    test: Sequence[float] | None = None,
    epochs: Sequence[tuple[int, float]] = ((9, 50.0),),
    num_train: int = 200,
    training: Training = FIXED_EPOCHS,
    **result: Any,
) -> list[Path]:
    """Write the runs of an arm, one for each score on the development set, with their test scores.

    epochs: updates and score after each epoch. `result` is added to the last line.
    """
    found = DATASETS[dataset]
    data = Path("/data") / Path(found.folder).name
    files = Splits((data / "train",), (data / "dev",), (data / found.test_set,))
    folders: list[Path] = []
    for run, score in zip(planned(dataset, arm, training), scores, strict=False):
        fingerprint = None if run.config.inputs.elmo is None else FINGERPRINT + "89abcdef"
        counts = {"train": {"examples": num_train}, "dev": {"examples": 50}}
        symbols = ["O", "B-PER"]
        record = TaskRecord(
            run.task, **vars(run.config), elmo_fingerprint=fingerprint, symbols=symbols, files=files, examples=counts
        )
        tests = {} if test is None else {found.test_set: {found.metric: test[run.config.training.seed]}}
        lines: list[dict[str, Any]] = [
            {"epoch": number, "step": step, "loss": 1.0, "dev": {found.metric: reached}}
            for number, (step, reached) in enumerate(epochs, start=1)
        ]
        last = {"epoch": len(lines) + 2, "best_epoch": 1, "result": True, "converged": True, "seconds": 60.0}
        lines.append({**last, "dev": {found.metric: score}, "test": tests, **result})
        (folder / run.name).mkdir(parents=True)
        write_record(folder / run.name, record)
        (folder / run.name / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        folders.append(folder / run.name)
    return folders
