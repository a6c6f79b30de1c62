"""The folder of a system that was trained here: config.json, metrics.jsonl and what the system adds."""

from __future__ import annotations

import dataclasses
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from elmokit.files.digests import file_digest
from elmokit.files.json_fields import Fields, read_json_object
from elmokit.runs.folder import (
    CONFIG_NAME,
    METRICS_NAME,
    checked_config,
    existing_run,
    new_run,
    start_writing,
    write_config,
)
from elmokit.runs.metrics_log import append_json_line, keep_records
from elmokit.system.messages import FormatError
from paper.comparators.checkpoint import CHECKPOINT_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

FORMAT = "elmokit-comparator"
VERSION = 1
DIGESTS_KEY = "files_sha256"


def write_comparator_config(run_dir: Path, system: str, config: Any, *, files: Sequence[Path]) -> None:
    """Write config.json: the system, its settings (a dataclass), the files that it is trained on and their SHA-256."""
    values = {
        "system": system,
        "settings": dataclasses.asdict(config),
        "files": [str(path) for path in files],
        DIGESTS_KEY: _digests(files),
    }
    write_config(run_dir, values, format=FORMAT, version=VERSION)


@contextmanager
def comparator_run(
    run_dir: Path,
    system: str,
    config: Any,
    *,
    files: Sequence[Path],
    resume: bool,
    result: str,
    others: Sequence[str] = (),
) -> Generator[None]:
    """Hold the lock of a new run with its config.json, or of an interrupted one that is continued.

    result: the file that the training writes; a run that has it and no checkpoint has ended.
    others: names of what it writes besides.
    Raises ValueError for a folder that already holds a run, or a file that it would write, or, to be continued, a run
    of other settings or files, or one that has ended; FileNotFoundError if there is nothing to continue; and OSError as
    `new_run` does.
    """
    if not resume:
        written = (METRICS_NAME, CHECKPOINT_FILE, result, *others)
        with new_run(run_dir, files=written, resume_with="the same command and --resume, or resume=True"):
            start_writing(run_dir)
            write_comparator_config(run_dir, system, config, files=files)
            yield
        return
    with existing_run(run_dir):
        _check_is_the_same(run_dir, system, config, files)
        if not (run_dir / CHECKPOINT_FILE).exists() and (run_dir / result).exists():
            raise ValueError(f"{run_dir} has ended: {result} is the trained model")
        yield


def _check_is_the_same(run_dir: Path, system: str, config: Any, files: Sequence[Path]) -> None:
    before = read_comparator_settings(run_dir, system)
    now = dataclasses.asdict(config)
    different = [name for name, value in now.items() if name not in before or before.value(name) != value]
    recorded = Fields(run_dir / CONFIG_NAME, read_json_object(run_dir / CONFIG_NAME))
    if recorded.texts("files") != [str(path) for path in files]:
        different.append("files")
    elif DIGESTS_KEY in recorded and recorded.texts(DIGESTS_KEY) != _digests(files):  # earlier versions have none
        different.append("contents of files")
    if different:
        raise ValueError(f"{run_dir} holds a run with other {', '.join(different)}; expected the same command again")


def _digests(files: Sequence[Path]) -> list[str]:
    return [file_digest(path, "sha256").hex() for path in files]


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


def metrics_log(run_dir: Path, *, keep: Callable[[Fields], bool]) -> Callable[..., None]:
    """A function that appends numbers, with the seconds since now, to the run's log; `keep` says what stays of it."""
    keep_records(run_dir / METRICS_NAME, keep)
    start = time.monotonic()

    def log(**numbers: float) -> None:
        append_json_line(run_dir / METRICS_NAME, {**numbers, "seconds": round(time.monotonic() - start, 1)})

    return log
