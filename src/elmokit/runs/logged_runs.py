"""Settings and logs of runs, for reports: read from run folders, or from one file that holds many runs.

A `runs.jsonl` has one line per run, `{"name": ..., "config": {...}, "metrics": [{...}, ...]}`: the name of its folder,
its config.json (or null), and the lines of its metrics.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elmokit.files.atomic import atomic_write
from elmokit.files.json_fields import Fields, read_json_object
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.metrics_log import Record, read_log

RUNS_NAME = "runs.jsonl"


@dataclass(frozen=True)
class LoggedRun:
    """Config and log of a run."""

    name: str
    """Name of the run's folder."""
    where: str
    """The folder, or the file and the run in it, as messages name it."""
    config_where: str
    """Where the config was read, as messages name it."""
    config: dict[str, Any] | None
    """None if there is only a log."""
    records: list[Record]
    """The complete lines of the log; empty if the run has not logged anything yet."""
    lines: list[Fields] = field(compare=False)
    """The same records, as fields that name their file and line in errors."""
    has_torn_line: bool
    """Whether part of another line follows."""


def read_runs(paths: Sequence[Path]) -> list[LoggedRun]:
    """Read the runs of each path: the folder of a run, its metrics.jsonl, a runs.jsonl, or a folder of any of these.

    Of a folder that holds a run and has it in its runs.jsonl, too, the run's own folder is read. Raises
    FileNotFoundError for a path without runs, and ValueError, naming the file, for what cannot be read.
    """
    return [run for path in paths for run in _runs_of(path)]


def write_runs(runs: Sequence[LoggedRun], path: Path) -> None:
    """Write a runs.jsonl, sorted by name, that `read_runs` reads back. Raises ValueError if two runs share a name."""
    names = sorted(run.name for run in runs)
    if repeated := [name for name, following in zip(names, names[1:], strict=False) if name == following]:
        raise ValueError(f"two runs are named {repeated[0]}; expected one run per name")
    with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8") as file:
        for run in sorted(runs, key=lambda run: run.name):
            line = {"name": run.name, "config": run.config, "metrics": run.records}
            file.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")


def _runs_of(path: Path) -> list[LoggedRun]:
    if path.is_file():
        return _runs_in_file(path)
    if not path.exists():
        raise FileNotFoundError(f"no run {path}; expected the folder of a run, its {METRICS_NAME}, or a {RUNS_NAME}")
    if is_run_folder(path):
        return [_run_in_folder(path, path / METRICS_NAME)]
    kept, folders = path / RUNS_NAME, {child.name: child for child in sorted(path.iterdir()) if is_run_folder(child)}
    runs = [run for run in (_runs_in_file(kept) if kept.is_file() else ()) if run.name not in folders]
    runs += [_run_in_folder(folder, folder / METRICS_NAME) for folder in folders.values()]
    if not runs:
        raise FileNotFoundError(f"{path} has no {METRICS_NAME} and no {RUNS_NAME}, and no folder in it is a run")
    return runs


def is_run_folder(path: Path) -> bool:
    """Whether a path is the folder of a run: it has a config or a log."""
    return (path / CONFIG_NAME).is_file() or (path / METRICS_NAME).is_file()


def _run_in_folder(folder: Path, log: Path) -> LoggedRun:
    config = folder / CONFIG_NAME
    logged = read_log(log)
    return LoggedRun(
        name=folder.resolve().name,
        where=str(folder),
        config_where=str(config),
        config=read_json_object(config) if config.is_file() else None,
        records=logged.records,
        lines=logged.fields(),
        has_torn_line=logged.has_torn_line,
    )


def _runs_in_file(path: Path) -> list[LoggedRun]:
    """The runs of a runs.jsonl, or the run of a metrics.jsonl; the first line shows which it is."""
    logged = read_log(path)
    if not logged.records or "metrics" not in logged.records[0]:
        return [_run_in_folder(path.parent, path)]
    if logged.has_torn_line:
        raise ValueError(f"{path}: the last line is incomplete; write the file again")
    return [_run_in_line(path, fields) for fields in logged.fields()]


def _run_in_line(path: Path, fields: Fields) -> LoggedRun:
    fields.require_known(("name", "config", "metrics"))
    name = fields.text("name")
    where = f"{path}, run {name}"
    metrics: list[Record] = fields.read("metrics", list[dict[str, object]])
    return LoggedRun(
        name=name,
        where=where,
        config_where=where,
        config=None if fields.value("config") is None else fields.read("config", dict[str, object]),
        records=metrics,
        lines=[Fields(f"{where}, line {number}", record) for number, record in enumerate(metrics, start=1)],
        has_torn_line=False,
    )
