"""The log of a run while it trains: a bar or lines on stderr, metrics.jsonl and, on request, TensorBoard."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.record import RunRecord
from elmokit.pretraining.run_folder import PretrainingProgress, best_step
from elmokit.runs.folder import BEST_DIR, METRICS_NAME
from elmokit.runs.log import append_json_line, keep_records, read_log
from elmokit.scoring.perplexity import Perplexity
from elmokit.system.optional import require
from elmokit.system.progress_bar import LINE_EVERY, progress_bar, shows_bars

if TYPE_CHECKING:
    from torch.utils.tensorboard.writer import SummaryWriter

TENSORBOARD_DIR = "tensorboard"


class RunLog:
    """A context manager that closes the bar and TensorBoard's file even if the run ends with an exception.

    start: where the run starts or continues. Entries for later steps are removed, and TensorBoard hides them. Entries
        before the first step (of a fine-tuned run) will be logged again.
    silent: True in all processes except the first, because their logs would say the same.
    """

    def __init__(
        self, run_dir: Path, config: PretrainingConfig, start: PretrainingProgress, *, silent: bool = False
    ) -> None:
        step = start.step
        self.config = config
        self.silent = silent
        self.path: Final = run_dir / METRICS_NAME
        if not silent:
            keep_records(self.path, lambda record: record.integer("step") <= step and step > 0)
        self.writer: SummaryWriter | None = None
        if config.tensorboard and not silent:
            self.writer = require_tensorboard().SummaryWriter(str(run_dir / TENSORBOARD_DIR), purge_step=step + 1)
        has_bar = shows_bars() and not silent
        self.bar: Final = progress_bar(unit="step", total=config.num_steps, done=step, show=None if has_bar else False)
        self._writes_lines = not (has_bar or silent)
        self._last_line = -1, -math.inf
        """Step and time of the last line on stderr."""
        self._since = start
        """Where the speed is measured from: the last line of the log, or the start."""

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()
        if self.writer is not None:
            self.writer.close()

    def show_step(self, progress: PretrainingProgress) -> None:
        """Move the bar by one step. Without a bar, print a line for the first step and then once a minute."""
        if self._writes_lines and time.monotonic() - self._last_line[1] >= LINE_EVERY:
            self._print_line(progress)
        self.bar.set_postfix_str(self._text(progress), refresh=False)
        self.bar.update()

    def log_losses(self, progress: PretrainingProgress) -> None:
        """Log the mean losses since the last line. If stderr is a file, it has no bar, so print them there too."""
        if self._writes_lines and self._last_line[0] != progress.step:
            self._print_line(progress)
        losses = {"loss": progress.loss, "losses": progress.mean_losses}
        rate, speed = self.config.learning_rate_at(progress.step - 1), round(self._tokens_per_second(progress), 1)
        self._write(progress, {**losses, "learning_rate": rate, "tokens_per_second": speed})
        self._since = progress

    def log_perplexity(self, progress: PretrainingProgress, measured: Perplexity) -> None:
        backward = None if measured.backward is None else measured.backward.perplexity
        held_out = {"forward": measured.forward.perplexity, "backward": backward, "mean": measured.mean}
        self._write(progress, {"heldout": held_out})

    def _print_line(self, progress: PretrainingProgress) -> None:
        seconds_per_step = self.config.tokens_per_step / self._tokens_per_second(progress)
        left = timedelta(seconds=round(seconds_per_step * (self.config.num_steps - progress.step)))
        step = f"step {progress.step}/{self.config.num_steps}"
        print(f"{step}: {self._text(progress)}, {left} left", file=sys.stderr, flush=True)
        self._last_line = progress.step, time.monotonic()

    def _text(self, progress: PretrainingProgress) -> str:
        """Loss and speed since the last line, and perplexities. A sampled loss gives no perplexity."""
        loss, best = progress.loss, progress.best.perplexity
        if self.config.softmax == "sampled":
            parts = [f"sampled loss {loss:.3f}"]
        else:
            parts = [f"loss {loss:.3f}", f"training perplexity {math.exp(min(loss, 50.0)):.1f}"]
        if best is not None:
            parts.append(f"best held-out perplexity {best:.1f}")
        return ", ".join([*parts, f"{self._tokens_per_second(progress):,.0f} tokens/s"])

    def _tokens_per_second(self, progress: PretrainingProgress) -> float:
        steps, seconds = progress.step - self._since.step, progress.seconds - self._since.seconds
        return steps * self.config.tokens_per_step / max(seconds, 1e-9)

    def _write(self, progress: PretrainingProgress, values: Mapping[str, object]) -> None:
        if self.silent:
            return
        place = {"step": progress.step, "num_tokens": progress.num_tokens}
        record = {**place, **values, "seconds": round(progress.seconds, 1)}
        append_json_line(self.path, record)
        if self.writer is not None:
            for name, value in _scalars(record):
                self.writer.add_scalar(name, value, progress.step)
            self.writer.flush()


def start_line(record: RunRecord, num_softmax_parameters: int, *, step: int) -> str:
    """A line that says what a run is about to do, with the sizes of its model and its softmax."""
    config, text = record.config, record.text
    most = "at most " if config.patience else ""
    steps = f"{most}{config.num_steps:,} steps of {config.tokens_per_step:,} tokens"
    reading = "" if text is None else f", which read the {text.num_tokens:,} tokens of text {most}{text.times(config)}"
    continued = f"continued after step {step:,}: " if step else ""
    sizes = f"{config.bilm.num_parameters:,} parameters and {num_softmax_parameters:,} of the softmax"
    return f"{continued}{sizes}; {steps}{reading}"


def held_out_summary(run_dir: Path) -> str | None:
    """A line with a run's held-out perplexities and the folder of its best weights; None if it measured none."""
    records = [record.values for record in read_log(run_dir / METRICS_NAME).records]
    measured = [(record["heldout"]["mean"], record["step"]) for record in records if "heldout" in record]
    kept = best_step(run_dir)
    of_kept = [one for one in measured if one[1] == kept]
    if not of_kept:
        return None
    (first, first_step), (best, _), (last, last_step) = measured[0], of_kept[-1], measured[-1]
    if kept == 0:
        text = f"held-out perplexity {best:.1f} at the start, never lower; weights of the start: {run_dir / BEST_DIR}"
    else:
        before = f"{first:.1f} -> " if first_step == 0 else ""
        text = f"held-out perplexity {before}{best:.1f} (step {kept:,}): {run_dir / BEST_DIR}"
    return text if last_step == kept else f"{text}; the last weights have {last:.1f}: {run_dir}"


def _scalars(record: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """Every number in a record by name; a number inside an object or a list is named `key/part` or `key/index`."""
    for name, value in record.items():
        parts = dict(enumerate(cast("list[Any]", value))) if isinstance(value, list) else value
        if isinstance(parts, dict):
            yield from _scalars(cast("dict[Any, Any]", parts), f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and name != "step":
            yield f"{prefix}{name}", value


def require_tensorboard() -> Any:
    """The module that writes for TensorBoard. Raises ValueError, naming the extra, without it."""
    module = "torch.utils.tensorboard.writer"
    return require(module, package="tensorboard", extra="tb", purpose="tensorboard=true")
