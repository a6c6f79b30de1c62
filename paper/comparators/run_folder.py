"""The run of a comparator that is trained here: a run folder (`elmokit.runs`) with one checkpoint in it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.files.digests import file_digest
from elmokit.files.json_fields import Fields, parse_json_object
from elmokit.runs.folder import (
    CONFIG_NAME,
    METRICS_NAME,
    existing_run,
    new_run,
    read_config,
    start_writing,
    write_config,
)
from elmokit.runs.metrics_log import append_json_line, keep_records
from elmokit.runs.optimizer_state import check_tensors, load_optimizer, optimizer_tensors, tensors_under
from elmokit.runs.tensor_files import read_tensors, write_tensors
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer

FORMAT = "elmokit-comparator"
VERSION = 1
CHECKPOINT_FILE = "checkpoint.safetensors"
DIGESTS_KEY = "files_sha256"


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

    config: its settings, a dataclass.
    result: the file that the training writes; a run that has it and no checkpoint has ended.
    others: names of what it writes besides.
    Raises ValueError for a folder that already holds a run, or a file that it would write, or, to be continued, a run
    of other settings or files, or one that has ended; FileNotFoundError if there is nothing to continue; and OSError as
    `new_run` does.
    """
    digests = [file_digest(path, "sha256").hex() for path in files]
    settings = dataclasses.asdict(config)
    values = {"system": system, "settings": settings, "files": [str(path) for path in files], DIGESTS_KEY: digests}
    if not resume:
        written = (METRICS_NAME, CHECKPOINT_FILE, result, *others)
        with new_run(run_dir, files=written, resume_with="the same command and --resume, or resume=True"):
            start_writing(run_dir)
            write_config(run_dir, values, format=FORMAT, version=VERSION)
            yield
        return
    with existing_run(run_dir):
        before = _flat({DIGESTS_KEY: digests} | _read(run_dir, system))  # earlier versions have no digests
        now = _flat(json.loads(json.dumps(values)))
        if different := [name for name, value in now.items() if name not in before or before[name] != value]:
            raise ValueError(
                f"{run_dir} holds a run with other {', '.join(different)}; expected the same command again"
            )
        if not (run_dir / CHECKPOINT_FILE).exists() and (run_dir / result).exists():
            raise ValueError(f"{run_dir} has ended: {result} is the trained model")
        yield


def read_comparator_settings(run_dir: Path, system: str) -> Fields:
    """The settings of a run of this system. Raises FileNotFoundError, and ValueError for another kind of folder."""
    return Fields(run_dir / CONFIG_NAME, _read(run_dir, system)).fields("settings")


def _read(run_dir: Path, system: str) -> dict[str, Any]:
    values = read_config(run_dir, format=FORMAT, version=VERSION, verb="train-comparator")
    if values.get("system") != system:
        raise FormatError(run_dir / CONFIG_NAME, f"is of {values.get('system')!r}; expected {system}")
    return values


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    return {**values["settings"], "files": values["files"], "contents of files": values[DIGESTS_KEY]}


def metrics_log(run_dir: Path, *, keep: Callable[[Fields], bool]) -> Callable[..., None]:
    """A function that appends numbers, with the seconds since now, to the run's log; `keep` says what stays of it."""
    keep_records(run_dir / METRICS_NAME, keep)
    start = time.monotonic()

    def log(**numbers: float) -> None:
        append_json_line(run_dir / METRICS_NAME, {**numbers, "seconds": round(time.monotonic() - start, 1)})

    return log


def save_checkpoint(run_dir: Path, model: nn.Module, optimizer: Optimizer, progress: Mapping[str, int]) -> None:
    """Write the checkpoint of a run, in place of the one before."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()} | optimizer_tensors(optimizer)
    write_tensors(run_dir / CHECKPOINT_FILE, tensors, metadata={"progress": json.dumps(dict(progress))})


def load_checkpoint(run_dir: Path, model: nn.Module, optimizer: Optimizer) -> Fields | None:
    """Restore model and optimiser, and return the progress that was saved; None if there is no checkpoint.

    Raises FormatError, before anything is changed, for a damaged file or one of another model.
    """
    path = run_dir / CHECKPOINT_FILE
    if not path.exists():
        return None
    file = read_tensors(path)
    weights = tensors_under("model.", file.tensors)
    check_tensors(path, weights, model.state_dict())
    model.load_state_dict(weights)
    load_optimizer(optimizer, file.tensors)
    return Fields(path, parse_json_object(file.metadata["progress"], where=path), prefix="progress.")
