"""What a run says of itself: lines of metrics.jsonl and, where asked for, TensorBoard's scalars."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.metrics_log import append_json_line
from elmokit.system.extras import require

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

TENSORBOARD_DIR = "tensorboard"


class MetricsLog:
    """Appends to a run's log; `step` is where the run goes on, and TensorBoard hides what it was told of later ones."""

    def __init__(self, run_dir: Path, *, step: int, tensorboard: bool) -> None:
        self.path = run_dir / METRICS_NAME
        self.writer = _writer(run_dir / TENSORBOARD_DIR, step) if tensorboard else None

    def write(self, record: Mapping[str, object]) -> None:
        """Add a line; it has a `step`, and its numbers become scalars named by their keys."""
        append_json_line(self.path, record)
        if self.writer is not None:
            step = cast("int", record["step"])
            for name, value in _numbers(record):
                self.writer.add_scalar(name, value, step)
            self.writer.flush()

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def _numbers(record: Mapping[str, object], prefix: str = "") -> list[tuple[str, float]]:
    """Every number in a record; those inside objects and lists are named `key/part` and `key/number`."""
    found: list[tuple[str, float]] = []
    for name, value in record.items():
        if isinstance(value, (int, float)) and name != "step":
            found.append((prefix + name, float(value)))
        elif isinstance(value, dict):
            found += _numbers(cast("dict[str, object]", value), f"{prefix}{name}/")
        elif isinstance(value, (list, tuple)):
            parts = cast("list[object]", value)
            found += _numbers({str(index): part for index, part in enumerate(parts)}, f"{prefix}{name}/")
    return found


def _writer(folder: Path, step: int) -> SummaryWriter:
    module = "torch.utils.tensorboard.writer"
    writer = require(module, package="tensorboard", extra="tb", purpose="tensorboard=true")
    return writer.SummaryWriter(str(folder), purge_step=step + 1)
