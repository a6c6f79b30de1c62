"""What runs of `elmokit train` leave behind, written by hand for tests of comparisons and pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.config import Splits, with_settings
from elmokit.tasks.run_folder import TaskRecord, write_record
from elmokit.tasks.task import recipe_config

FILES = {
    "named-entities": ("conll2003", "eng.train", "eng.testa", "eng.testb"),
    "sentiment": ("nsmc", "train.tsv", "dev.tsv", "test.tsv"),
    "entailment": ("snli", "train.jsonl", "dev.jsonl", "snli_1.0_test.jsonl"),
    "semantic-roles": ("srl", "train.gold_conll", "dev.gold_conll", "test.gold_conll"),
    "coreference": ("ontogum", "train.gold_conll", "dev.gold_conll", "test.gold_conll"),
    "question-answering": ("squad_v1.1", "train-subset.json#4:", "train-subset.json#:4", "dev-v1.1.json"),
}
SOURCE = {"version": "0.1.0", "commit": "abc", "date": "2026-11-25"}


def make_run(
    folder: Path,
    *settings: str,
    test: float | None,
    dev: float = 50.0,
    task: str = "named-entities",
    ended: bool = True,
    home: str = "/data",
    num_train: int = 14_041,
    other_vectors: bool = False,
    **result: Any,
) -> Path:
    """What a run leaves behind, without its weights; `result` is added to the last line."""
    folder.mkdir(parents=True)
    found = find_task(task)
    name, *files = FILES[task]
    splits = [(Path(home) / name / file,) for file in files]
    config = with_settings(recipe_config(found, "cpu"), settings)
    counts = {"train": {"examples": num_train}, "dev": {"examples": 3_250}, f"test {files[-1]}": {"examples": 3_453}}
    fingerprint = None if config.inputs.elmo is None else "0123456789abcdef"
    record = TaskRecord(task, config, ["O", "B-PER"], Splits(*splits), fingerprint, counts, other_vectors=other_vectors)
    write_record(folder, record)
    lines: list[dict[str, Any]] = [{"epoch": 1, "step": 9, "loss": 1.0, "dev": {found.metric: dev}, "seconds": 60.0}]
    if ended:
        scored = {} if test is None else {files[-1]: {found.metric: test, "recall": 30.0}}
        scores = {"dev": {found.metric: dev, "recall": 40.0}, "test": scored}
        last = {"epoch": 1, "best_epoch": 1, "result": True, "converged": True, **scores, "seconds": 60.0, **result}
        lines.append(last)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def make_seeds(folder: Path) -> Path:
    """Three seeds of each arm: 80, 82, 84 and 85, 85, 88 on the test set."""
    for seed, (without, with_elmo) in enumerate([(80.0, 85.0), (82.0, 85.0), (84.0, 88.0)]):
        make_run(folder / f"ner-none-{seed}", "elmo=none", f"seed={seed}", test=without, dev=without + 1)
        make_run(
            folder / f"ner-input-{seed}",
            "elmo=input",
            f"seed={seed}",
            test=with_elmo,
            dev=with_elmo + 1,
            seconds=100.0 + 50 * seed**2,
            **({} if seed == 1 else {"processor_seconds": 90.0 + seed, "machine": "a loom", **SOURCE}),
            best_epoch=4 + seed,
            mixes={"input": {"gamma": 1.0 + seed, "weights": [0.2, 0.3 + seed / 10, 0.5 - seed / 10]}},
        )
    return folder
