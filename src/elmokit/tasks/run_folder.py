"""A task's run: config.json with everything resolved, words, metrics.jsonl, the best weights, a checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.system.files import atomic_write
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.settings import config_from_json, config_to_json
from elmokit.tasks.task import Splits, TaskConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from elmokit.tasks.task import Task

CONFIG_FILE = "config.json"
METRICS_FILE = "metrics.jsonl"
BEST_FILE = "model.safetensors"
CHECKPOINT_FILE = "checkpoint.safetensors"
FORMAT = "elmokit-task"
VERSION = 1


@dataclass(frozen=True)
class TaskRecord:
    """What config.json says of a run."""

    task: str
    config: TaskConfig
    labels: list[str]
    splits: Splits
    fingerprint: str | None
    """Of the frozen biLM; None without one."""
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: dict[str, dict[str, int]]())
    """For each split, its examples, and how many were left out for which reason."""


def check_is_free(run_dir: Path) -> None:
    if (run_dir / CONFIG_FILE).exists():
        raise ValueError(f"{run_dir} already holds a run; resume it with --resume {run_dir}, or choose another folder")


def write_record(run_dir: Path, record: TaskRecord) -> None:
    """Whole or not at all; a folder without it is no run."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "task": record.task,
        **config_to_json(record.config),
        "elmo_fingerprint": record.fingerprint,
        "labels": record.labels,
        "files": {name: list(map(str, getattr(record.splits, name))) for name in ("train", "dev", "test")},
        "examples": record.counts,
    }
    with atomic_write(run_dir / CONFIG_FILE) as temporary:
        temporary.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_record(run_dir: Path, task: Task[Any, Any] | None = None) -> TaskRecord:
    """FileNotFoundError where there is no run; ValueError for what is no task's, or of a later version.

    task: of the run, if it is none of `TASKS`.
    """
    path = run_dir / CONFIG_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{run_dir} is no run: it has no {CONFIG_FILE}")
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f"{path} does not describe a trained task; expected a folder that `elmokit train` wrote")
    if record["version"] != VERSION:
        raise ValueError(f"{path} is of version {record['version']}; this elmokit reads version {VERSION}")
    return TaskRecord(
        task=record["task"],
        config=config_from_json(record, (task or find_task(record["task"])).model_config),
        labels=record["labels"],
        splits=Splits(**{name: tuple(map(Path, files)) for name, files in record["files"].items()}),
        fingerprint=record["elmo_fingerprint"],
        counts=record["examples"],
    )
