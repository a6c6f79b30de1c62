"""How far a pretraining run has come: one frozen record, replaced after every step and kept in every checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from elmokit.corpus.batches import PackerState
from elmokit.corpus.stream import CorpusPosition
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.evaluation import BestSoFar, HeldOutPerplexity


@dataclass(frozen=True)
class LossWindow:
    """Losses of the steps since the last line of metrics.jsonl, and the time that those of this process took."""

    step_losses: tuple[tuple[float, ...], ...] = ()
    """For each step, the mean loss of each direction, in nats per predicted token."""
    num_timed_steps: int = 0
    """The last so many of them; the others came out of a checkpoint, which keeps no times."""
    seconds: float = 0.0

    def after(self, losses: tuple[float, ...], *, seconds: float) -> LossWindow:
        """The window with one more step."""
        return LossWindow((*self.step_losses, losses), self.num_timed_steps + 1, self.seconds + seconds)

    @property
    def losses(self) -> list[float]:
        """Mean of each direction."""
        return [sum(column) / len(column) for column in zip(*self.step_losses, strict=True)]

    @property
    def loss(self) -> float:
        """Mean of the directions."""
        return sum(self.losses) / len(self.losses)

    @property
    def seconds_per_step(self) -> float:
        """0 before this process has made a step."""
        return self.seconds / max(self.num_timed_steps, 1)


@dataclass(frozen=True)
class PretrainingProgress:
    """Steps, corpus tokens and seconds so far, where the text continues, losses not yet logged, the best perplexity."""

    packers: tuple[PackerState, ...]
    """For each direction, forward first."""
    step: int = 0
    num_tokens: int = 0
    seconds: float = 0.0
    """Of reading text and optimising, without evaluations and checkpoints."""
    window: LossWindow = LossWindow()
    best: BestSoFar = field(default_factory=BestSoFar)

    def after(
        self, losses: tuple[float, ...], *, num_tokens: int, seconds: float, packers: Sequence[PackerState]
    ) -> PretrainingProgress:
        """The progress after one more step, on `num_tokens` tokens of the corpus."""
        return replace(
            self,
            step=self.step + 1,
            num_tokens=self.num_tokens + num_tokens,
            seconds=self.seconds + seconds,
            packers=tuple(packers),
            window=self.window.after(losses, seconds=seconds),
        )

    def logged(self) -> PretrainingProgress:
        """The progress after a log line, which begins a new window."""
        return replace(self, window=LossWindow())

    def evaluated(self, measured: HeldOutPerplexity) -> PretrainingProgress:
        """The progress after an evaluation."""
        return replace(self, best=self.best.after(measured))

    def finished(self, config: PretrainingConfig) -> bool:
        """Whether the last step is done, or the held-out perplexity has not improved for `patience` evaluations."""
        return self.step >= config.num_steps or 0 < config.patience <= self.best.num_evaluations_since

    def to_json(self) -> dict[str, object]:
        """As checkpoints hold it (`training.json`); the times of the window are left out."""
        return {
            "step": self.step,
            "num_tokens": self.num_tokens,
            "seconds": self.seconds,
            "packers": [asdict(packer) for packer in self.packers],
            "unlogged_losses": self.window.step_losses,
            "best": asdict(self.best),
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> PretrainingProgress:
        """What `to_json` wrote, also before it knew of a best perplexity. KeyError when a field is missing."""
        return cls(
            step=record["step"],
            num_tokens=record["num_tokens"],
            seconds=record["seconds"],
            packers=tuple(
                PackerState(CorpusPosition(**packer["position"]), tuple(packer["rows"])) for packer in record["packers"]
            ),
            window=LossWindow(tuple(tuple(losses) for losses in record["unlogged_losses"])),
            best=BestSoFar(**record.get("best", {})),
        )
