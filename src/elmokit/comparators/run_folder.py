"""The folder of a system that was trained here: config.json, metrics.jsonl and what the system adds."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME, checked_config, write_config
from elmokit.runs.metrics_log import append_json_line
from elmokit.system.json_fields import Fields, read_json_object
from elmokit.system.untrusted import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

FORMAT = "elmokit-comparator"
VERSION = 1


def write_comparator_config(run_dir: Path, system: str, config: Any, *, files: Sequence[Path]) -> None:
    """Write config.json: the system, its settings (a dataclass) and the files that it is trained on."""
    values = {"system": system, "settings": dataclasses.asdict(config), "files": [str(path) for path in files]}
    write_config(run_dir, values, format=FORMAT, version=VERSION)


def read_comparator_settings(run_dir: Path, system: str) -> Fields:
    """The settings of a run of this system. Raises FileNotFoundError, and FormatError for another kind of folder."""
    path = run_dir / CONFIG_NAME
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected the folder of a trained {system}")
    values = checked_config(read_json_object(path), where=path, format=FORMAT, version=VERSION, verb="train-comparator")
    fields = Fields(path, values)
    if fields.text("system") != system:
        raise FormatError(path, f"is of {fields.text('system')!r}; expected {system}")
    return fields.fields("settings")


def metrics_log(run_dir: Path) -> Callable[..., None]:
    """A function that appends numbers, with the seconds since now, to the run's log."""
    start = time.monotonic()

    def log(**numbers: float) -> None:
        append_json_line(run_dir / METRICS_NAME, {**numbers, "seconds": round(time.monotonic() - start, 1)})

    return log
