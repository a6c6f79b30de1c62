"""What a run has logged, read back: the lines of metrics.jsonl, and the settings that lie beside it. Needs no torch."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.run_folder import read_record
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.metrics_log import read_log


@dataclass(frozen=True)
class LoggedLosses:
    """A training line: means over the steps since the one before."""

    step: int
    num_tokens: int
    """Tokens of the corpus read so far."""
    seconds: float
    """Of optimisation so far."""
    losses: tuple[float, ...]
    """Of each direction, forward first, in nats per predicted token; sampled where the softmax is."""

    @property
    def perplexity(self) -> float:
        """Of the directions' mean loss."""
        return math.exp(min(sum(self.losses) / len(self.losses), 700.0))  # above it, no float holds the exponential


@dataclass(frozen=True)
class LoggedPerplexity:
    """An evaluation line: perplexity of held-out sentences, with the full softmax."""

    step: int
    num_tokens: int
    forward: float
    backward: float | None
    """None of a forward model."""
    mean: float


@dataclass(frozen=True)
class RunHistory:
    """A pretraining run as it went; both kinds of lines in the order of their steps."""

    name: str
    training: list[LoggedLosses]
    evaluations: list[LoggedPerplexity]
    config: PretrainingConfig | None
    """None where no config.json lies beside the log."""


def read_history(run: Path) -> RunHistory:
    """The history of a run's folder, or of a metrics.jsonl; it is named for the folder.

    A line that is not whole, at the end of a file that is still being written, is left out with a warning. Raises
    FileNotFoundError where there is no log, ValueError naming file and line for a line that cannot be read.
    """
    if not run.exists():
        raise FileNotFoundError(f"no run {run}; expected the folder of a run, or its {METRICS_NAME}")
    path = run / METRICS_NAME if run.is_dir() else run
    if not path.is_file():
        raise FileNotFoundError(f"{run} has no {METRICS_NAME}; a run writes it after its first log_every steps")
    training: list[LoggedLosses] = []
    evaluations: list[LoggedPerplexity] = []
    step = 0
    log = read_log(path)
    for number, record in enumerate(log.records, start=1):
        try:
            before, step = step, int(_number(record, "step"))
            if step < before:
                raise ValueError(f"step {step} comes after step {before}; expected the lines of one run in their order")
            if "losses" not in record and "heldout" not in record:
                raise ValueError("neither losses nor heldout; expected a line that a pretraining run has logged")
            if "losses" in record:
                training.append(_losses(record))
            if "heldout" in record:
                evaluations.append(_perplexity(record))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from None
    if log.has_torn_line:
        line = len(log.records) + 1
        warnings.warn(f"{path}, line {line} is not whole (is the run writing it?); left out", stacklevel=2)
    folder = path.resolve().parent
    return RunHistory(folder.name, training, evaluations, _config(folder))


def _losses(record: dict[str, object]) -> LoggedLosses:
    losses = record["losses"]
    if not isinstance(losses, list) or len(cast("list[object]", losses)) not in (1, 2):
        raise ValueError(f"losses are {losses!r}; expected a list of one number for each direction")
    return LoggedLosses(
        step=int(_number(record, "step")),
        num_tokens=int(_number(record, "num_tokens")),
        seconds=_number(record, "seconds"),
        losses=tuple(_number({"loss": loss}, "loss") for loss in cast("list[object]", losses)),
    )


def _perplexity(record: dict[str, object]) -> LoggedPerplexity:
    heldout = record["heldout"]
    if not isinstance(heldout, dict):
        raise ValueError(f"heldout is {heldout!r}; expected an object with forward, backward and mean")
    measured = cast("dict[str, object]", heldout)
    return LoggedPerplexity(
        step=int(_number(record, "step")),
        num_tokens=int(_number(record, "num_tokens")),
        forward=_number(measured, "forward", least=1),
        backward=None if measured.get("backward") is None else _number(measured, "backward", least=1),
        mean=_number(measured, "mean", least=1),
    )


def _number(record: dict[str, object], name: str, *, least: float = 0) -> float:
    value = record.get(name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value < math.inf:
        raise ValueError(f"{name} is {json.dumps(value)}; expected a number that is at least {least}")
    return value


def _config(folder: Path) -> PretrainingConfig | None:
    if not (folder / CONFIG_NAME).exists():
        return None
    try:
        return read_record(folder).config
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"the settings in {folder / CONFIG_NAME} cannot be read: {error}") from error
