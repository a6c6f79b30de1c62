"""What a person sees of a run: one line that moves on a terminal, a line now and then in a log file."""

from __future__ import annotations

import math
import sys
from datetime import timedelta
from types import TracebackType

from elmokit.system.progress import progress_bar


class LossWindow:
    """Losses and speed of the steps since the last line of metrics.jsonl."""

    def __init__(self, step_losses: list[list[float]]) -> None:
        self.step_losses = step_losses
        """Of each step, the mean loss in nats per predicted token of each direction."""
        self.num_tokens = 0
        self.seconds = 0.0

    def add(self, losses: tuple[float, ...], *, num_tokens: int, seconds: float) -> None:
        self.step_losses.append(list(losses))
        self.num_tokens += num_tokens
        self.seconds += seconds

    @property
    def losses(self) -> list[float]:
        """Mean of each direction."""
        return [sum(column) / len(column) for column in zip(*self.step_losses, strict=True)]

    @property
    def loss(self) -> float:
        return sum(self.losses) / len(self.losses)

    @property
    def tokens_per_second(self) -> float:
        return self.num_tokens / max(self.seconds, 1e-9)

    def text(self) -> str:
        perplexity = math.exp(min(self.loss, 50.0))
        return f"loss {self.loss:.3f}, perplexity {perplexity:.1f}, {self.tokens_per_second:,.0f} tokens/s"


class ProgressLine:
    """Steps, loss, perplexity (of the training loss, so sampled where the softmax is), tokens/s and time left."""

    def __init__(self, *, num_steps: int, step: int, shown: bool = True) -> None:
        self.num_steps = num_steps
        self.step = step
        self.shown = shown
        self.bar = progress_bar(unit="step", total=num_steps, done=step, show=None if shown else False)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.bar.close()

    def advance(self, window: LossWindow) -> None:
        self.step += 1
        self.bar.set_postfix_str(window.text(), refresh=False)
        self.bar.update()

    def log(self, window: LossWindow) -> None:
        """A whole line, where stderr is a file and has no moving one."""
        if self.shown and self.bar.disable:
            seconds_per_step = window.seconds / max(len(window.step_losses), 1)
            left = timedelta(seconds=round(seconds_per_step * (self.num_steps - self.step)))
            print(f"step {self.step}/{self.num_steps}: {window.text()}, {left} left", file=sys.stderr, flush=True)
