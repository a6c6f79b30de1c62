"""How far a pretraining run has come: one frozen record, replaced after every step and kept in every checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from elmokit.corpus.batches import PackerState
from elmokit.files.json_fields import Fields
from elmokit.pretraining.config import PretrainingConfig


@dataclass(frozen=True)
class LossWindow:
    """Losses of the steps since the last line of metrics.jsonl, and the time of those that this process made."""

    step_losses: tuple[tuple[float, ...], ...] = ()
    """Mean loss of each direction in each step, in nats per predicted token."""
    num_timed_steps: int = 0
    """Number of the last steps that were timed; the others came from a checkpoint, which has no times."""
    seconds: float = 0.0

    @property
    def losses(self) -> list[float]:
        return [sum(column) / len(column) for column in zip(*self.step_losses, strict=True)]

    @property
    def loss(self) -> float:
        return sum(self.losses) / len(self.losses)


@dataclass(frozen=True)
class BestSoFar:
    """The lowest held-out perplexity of the evaluations, and the number of evaluations since."""

    perplexity: float | None = None
    num_evaluations_since: int = 0


@dataclass(frozen=True)
class PretrainingProgress:
    """Steps, corpus tokens and seconds so far, where the text continues, losses not yet logged, the best perplexity."""

    packers: tuple[PackerState, ...]
    """Position in the text of each direction, forward first."""
    step: int = 0
    num_tokens: int = 0
    seconds: float = 0.0
    """Seconds of reading text and optimising, without evaluations and checkpoints."""
    window: LossWindow = LossWindow()
    best: BestSoFar = BestSoFar()

    def after(
        self, losses: tuple[float, ...], *, num_tokens: int, seconds: float, packers: Sequence[PackerState]
    ) -> PretrainingProgress:
        window = self.window
        return replace(
            self,
            step=self.step + 1,
            num_tokens=self.num_tokens + num_tokens,
            seconds=self.seconds + seconds,
            packers=tuple(packers),
            window=LossWindow((*window.step_losses, losses), window.num_timed_steps + 1, window.seconds + seconds),
        )

    def evaluated(self, perplexity: float) -> PretrainingProgress:
        if self.best.perplexity is None or perplexity < self.best.perplexity:
            return replace(self, best=BestSoFar(perplexity))
        return replace(self, best=BestSoFar(self.best.perplexity, self.best.num_evaluations_since + 1))

    def finished(self, config: PretrainingConfig) -> bool:
        """Whether the last step is done, or the held-out perplexity has not improved for `patience` evaluations."""
        return self.step >= config.num_steps or 0 < config.patience <= self.best.num_evaluations_since

    def to_json(self) -> dict[str, object]:
        """The contents of a checkpoint's `training.json`, without the times of the window."""
        return {
            "step": self.step,
            "num_tokens": self.num_tokens,
            "seconds": self.seconds,
            "packers": [asdict(packer) for packer in self.packers],
            "unlogged_losses": self.window.step_losses,
            "best": asdict(self.best),
        }

    @classmethod
    def from_json(cls, record: Fields) -> PretrainingProgress:
        """The progress that `to_json` wrote, also in versions without `best`.

        Raises FormatError, which names the field, for anything else.
        """
        losses = record.read("unlogged_losses", tuple[tuple[float, ...], ...])
        best: dict[str, Any] = {} if "best" in record else {"best": BestSoFar()}
        return record.as_dataclass(cls, complete=True, window=LossWindow(losses), **best)
