"""The history of a pretraining run: the lines of its log as typed records, and its settings. Needs no torch."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.files.json_fields import Fields
from elmokit.pretraining.run_folder import record_of

if TYPE_CHECKING:
    from elmokit.pretraining.config import PretrainingConfig
    from elmokit.pretraining.run_folder import Change
    from elmokit.runs.logged_runs import LoggedRun


@dataclass(frozen=True)
class LoggedLosses:
    """A training line of a log: means over the steps since the previous line."""

    step: int
    num_tokens: int
    """Tokens of the corpus read so far."""
    seconds: float
    """Seconds of optimisation so far."""
    losses: tuple[float, ...]
    """Loss of each direction, forward first, in nats per predicted token; of the sampled softmax if that is trained."""

    @property
    def perplexity(self) -> float:
        """Perplexity of the directions' mean loss."""
        return math.exp(min(sum(self.losses) / len(self.losses), 700.0))  # above it, no float holds the exponential


@dataclass(frozen=True)
class LoggedPerplexity:
    """An evaluation line: perplexity of held-out sentences, with the full softmax."""

    step: int
    num_tokens: int
    forward: float
    backward: float | None
    """None for a forward model."""
    mean: float


@dataclass(frozen=True)
class RunHistory:
    """The history of a pretraining run; both kinds of lines are in the order of their steps."""

    name: str
    training: list[LoggedLosses]
    evaluations: list[LoggedPerplexity]
    config: PretrainingConfig | None
    """None for a log without a config.json next to it."""
    changes: tuple[Change, ...] = ()
    """Settings that were changed under way."""


def read_history(run: LoggedRun) -> RunHistory:
    """The history of a logged run.

    A torn last line, of a log that is still being written, is left out with a warning. Raises ValueError, naming file
    and line, for a line that cannot be read or comes out of order, for settings that cannot be read, and
    for fewer than two training lines, too few for a curve.
    """
    training: list[LoggedLosses] = []
    evaluations: list[LoggedPerplexity] = []
    step = 0
    for line in run.lines:
        before, step = step, line.integer("step")
        if step < before:
            raise line.error("step", f"is {step}, after step {before}; expected the lines of one run in their order")
        if "losses" not in line and "heldout" not in line:
            raise line.error("losses", "is missing, and so is heldout; expected a line of a pretraining run")
        if "losses" in line:
            training.append(_losses(line))
        if "heldout" in line:
            evaluations.append(_perplexity(line))
    if run.has_torn_line:
        torn = "the last line of its log is incomplete (is the run writing it?) and left out"
        warnings.warn(f"{run.where}: {torn}", stacklevel=2)
    if len(training) < 2:
        raise ValueError(
            f"{run.where}: {run.name} has logged {len(training)} training lines, and a curve needs 2; a run logs "
            "one every log_every steps"
        )
    if run.config is None:
        return RunHistory(run.name, training, evaluations, None)
    record = record_of(run.config, run.config_where)
    return RunHistory(run.name, training, evaluations, record.config, record.changes)


def _losses(line: Fields) -> LoggedLosses:
    losses = line.read("losses", tuple[float, ...])
    if len(losses) not in (1, 2):
        raise line.error("losses", f"has {len(losses)} numbers; expected one for each direction")
    return LoggedLosses(
        step=line.integer("step"), num_tokens=line.integer("num_tokens"), seconds=line.number("seconds"), losses=losses
    )


def _perplexity(line: Fields) -> LoggedPerplexity:
    measured = line.fields("heldout")
    return LoggedPerplexity(
        step=line.integer("step"),
        num_tokens=line.integer("num_tokens"),
        forward=measured.number("forward", least=1),
        backward=measured.read("backward", float | None, least=1) if "backward" in measured else None,
        mean=measured.number("mean", least=1),
    )
