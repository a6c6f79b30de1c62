"""A pretraining run in progress: batches -> steps -> log lines, evaluations and checkpoints, until the last step."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shlex import quote
from typing import NoReturn, cast

import torch
from torch import Tensor

from elmokit.corpus.batches import Batch, Packer, PackerState, packed_batches
from elmokit.corpus.stream import SentenceStream
from elmokit.formats.native import CONFIG_NAME, VOCABULARY_NAME, WEIGHTS_NAME
from elmokit.layers.devices import seeded
from elmokit.layers.sampled_softmax import Softmax, log_uniform_probability
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.checkpoints import (
    Checkpoint,
    checkpoints,
    fill,
    newest_checkpoint,
    not_finite,
    publish,
    read_checkpoint,
    remove_older,
    save_checkpoint,
    save_model,
)
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.evaluation import HeldOutPerplexity, held_out_perplexity
from elmokit.pretraining.gradients import LossAndGradients, StepResult
from elmokit.pretraining.logging import RunLog
from elmokit.pretraining.optimizers import new_optimizer
from elmokit.pretraining.position import PretrainingProgress
from elmokit.pretraining.ranks import Ranks
from elmokit.pretraining.run_folder import HELD_OUT_NAME
from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.metrics_log import keep_records
from elmokit.runs.optimizer_state import DivergenceError
from elmokit.system.python import warn_caller
from elmokit.text.vocabulary import Vocabulary

BEST_DIR = "best"

OnStep = Callable[["Run"], None]


class Run:
    """Model, optimiser, text and progress of a run, from its start or from a checkpoint. Every process has its own."""

    def __init__(
        self, run_dir: Path, config: PretrainingConfig, shards: list[Path], vocabulary: Vocabulary, *, ranks: Ranks
    ) -> None:
        self.run_dir = run_dir
        self.config = config
        self.shards = [shard.resolve() for shard in shards]
        self.vocabulary = vocabulary
        self.ranks = ranks
        with seeded(config.seed):
            self.bilm = BiLM(config.bilm)
            self.softmax = new_softmax(len(vocabulary), config)
        for module in (self.bilm, self.softmax):
            module.to(ranks.device, torch.float64 if config.precision == "float64" else torch.float32)
        self.optimizer = new_optimizer(config, self.bilm, self.softmax)
        self.gradients = LossAndGradients(self.bilm, self.softmax, config, device=ranks.device, rank=ranks.rank)
        self.state: BiLMState | None = None
        self.packers = [self._packer(backward, None) for backward in (False, True)[: config.bilm.num_directions]]
        self.progress = PretrainingProgress(tuple(packer.state for packer in self.packers))

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        """The parameters of the biLM, then those of the softmax."""
        return [*self.bilm.parameters(), *self.softmax.parameters()]

    def start_from(self, bilm: BiLM, softmax: Softmax) -> None:
        """Start from trained weights, but with a new optimiser and from the beginning of the text."""
        self.bilm.load_state_dict(bilm.state_dict())
        self.softmax.load_state_dict(softmax.state_dict())

    def load_newest(self, *, started_from: str | None, from_start: bool) -> None:
        """Continue from the newest checkpoint that can be read; damaged ones are passed over with a warning.

        A run that was stopped before its first checkpoint stays at its start. One whose checkpoints are lost does so
        only with `from_start`, and without it raises ValueError, which says what is wrong with each of them; so does a
        run that `started_from` a model in any case, and `from_start` where a checkpoint can be read.
        """
        checkpoint: Checkpoint | None = None

        def find() -> Path | None:
            nonlocal checkpoint
            checkpoint = self._newest_checkpoint(started_from=started_from, from_start=from_start)
            return None if checkpoint is None else checkpoint.path

        path = self.ranks.from_first(find)  # so that all processes continue from the same one
        if path is not None:
            self._load(checkpoint or self._read(path))

    def _newest_checkpoint(self, *, started_from: str | None, from_start: bool) -> Checkpoint | None:
        checkpoint, refused = newest_checkpoint(self.run_dir, self._read)
        if checkpoint is None:
            if refused or started_from is not None or (self.run_dir / WEIGHTS_NAME).exists():
                self._check_may_start_again(refused, started_from=started_from, from_start=from_start)
            return None
        if from_start:
            raise ValueError(
                f"{checkpoint.path} can be read: leave out --from-start, or from_start=True, to continue from it"
            )
        for path, reason in refused:
            warn_caller(f"{path} cannot be read ({reason}); going back to {checkpoint.path.name}")
        publish(checkpoint.path / WEIGHTS_NAME, self.run_dir / WEIGHTS_NAME)  # a kill may have come before that,
        kept = {"keep": self.config.keep_checkpoints, "keep_every": self.config.keep_every}
        remove_older(checkpoint.path, **kept)  # or in the middle of this
        return checkpoint

    def _check_may_start_again(
        self, refused: list[tuple[Path, str]], *, started_from: str | None, from_start: bool
    ) -> None:
        has_weights, has_log = ((self.run_dir / name).exists() for name in (WEIGHTS_NAME, METRICS_NAME))
        if has_weights and not refused and not has_log:
            raise ValueError(
                f"{self.run_dir} is a model and not a run: it has no checkpoint and no {METRICS_NAME}; to train it on, "
                "fine-tune it into another folder (elmokit finetune)"
            )
        if from_start and started_from is None:
            return
        found = "; ".join(f"{path.name} ({reason})" for path, reason in refused) or "there is none"
        if started_from is None:
            advice = "put back a copy of one, or train again from the first step with --from-start, or from_start=True"
        else:
            advice = f"put back a copy of one, or fine-tune {started_from} again into another folder"
        raise ValueError(f"{self.run_dir} has no checkpoint that can be read: {found}. Nothing was changed; {advice}")

    def _read(self, path: Path) -> Checkpoint:
        return read_checkpoint(path, config=self.config, bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer)

    def _load(self, checkpoint: Checkpoint) -> None:
        fill(checkpoint, bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer)
        self.progress = checkpoint.progress
        self.state = self.ranks.share_state(checkpoint.state)
        self.packers = [self._packer(index == 1, start) for index, start in enumerate(self.progress.packers)]

    def train(self, on_step: OnStep | None = None) -> None:
        """Train until the end. SIGTERM to any of the processes ends all of them after a step and a checkpoint.

        on_step: called with the run after each step, once it has been logged, evaluated and saved; an exception from
            it ends the run, which can be resumed.
        """
        config = self.config
        if self.ranks.first:
            last_step = self.progress.step
            keep_records(self.run_dir / METRICS_NAME, lambda record: record.integer("step") <= last_step)
        source = packed_batches(self.packers, spelling=self.bilm.spelling)
        log = RunLog(self.run_dir, config, step=self.progress.step, silent=not self.ranks.first)
        with log, _TerminationSignal() as termination:
            while not self.progress.finished(config):
                self._advance(source)
                log.show_step(self.progress)
                measured = self._evaluate() if self._evaluation_is_due() else None
                finished = self.progress.finished(config)
                if finished or self.progress.step % config.log_every == 0:
                    log.log_losses(self.progress)
                    self.progress = self.progress.logged()
                if measured is not None:
                    log.log_perplexity(self.progress, measured)
                terminated = self.ranks.any(termination.received)
                if finished or terminated or self.progress.step % config.checkpoint_every == 0:
                    self.save()
                if on_step is not None:
                    on_step(self)
                if terminated and not finished:
                    self._stop()

    def save(self) -> None:
        """Write a checkpoint: the first process writes it, with the LSTM states of all.

        Raises DivergenceError, and writes nothing, if it would have a number that is not finite.
        """
        state = self.ranks.gather_state(self.state)
        name = not_finite(bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer, state=state)
        if name is not None:  # in all processes, because they have the same weights
            raise DivergenceError(
                f"step {self.progress.step}: {name} has a number that is not finite, so training has diverged; "
                f"{self._how_to_continue()}"
            )
        if self.ranks.first:
            save_checkpoint(
                self.run_dir,
                bilm=self.bilm,
                softmax=self.softmax,
                optimizer=self.optimizer,
                state=state,
                progress=self.progress,
                keep=self.config.keep_checkpoints,
                keep_every=self.config.keep_every,
            )

    def _stop(self) -> NoReturn:
        if self.ranks.first:
            step = self.progress.step
            print(f"\nstopped at step {step}; continue with --resume {quote(str(self.run_dir))}", file=sys.stderr)
        sys.exit(128 + signal.SIGTERM)

    def _advance(self, source: Iterator[Batch]) -> None:
        """Make one step on the next batches, and update the progress."""
        began = time.monotonic()
        losses = self._one_step([next(source) for _ in range(self.config.accumulate)])
        self.progress = self.progress.after(
            losses,
            num_tokens=self.config.tokens_per_step,
            seconds=time.monotonic() - began,
            packers=[packer.state for packer in self.packers],
        )

    def _one_step(self, group: list[Batch]) -> tuple[float, ...]:
        """Make one optimiser step on a group of batches; each direction's mean loss over them and all processes."""
        config = self.config
        losses = self.fill_gradients(group)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        self.ranks.average(gradients)
        losses = self.ranks.mean(losses)
        together = self.ranks.device.type != "mps"  # which has no operators on lists of tensors
        norm = torch.nn.utils.get_total_norm(gradients, foreach=together)
        if not (all(map(math.isfinite, losses)) and bool(torch.isfinite(norm))):
            raise DivergenceError(
                f"step {self.progress.step}: {self._not_finite(losses)} is not finite, so training has diverged; "
                f"{self._how_to_continue()}"
            )
        if norm > config.clip_norm:
            torch.nn.utils.clip_grads_with_norm_(self.parameters, config.clip_norm, norm, foreach=together)
        for settings in self.optimizer.param_groups:
            settings["lr"] = config.learning_rate_at(self.progress.step)
        self.optimizer.step()
        return losses

    def fill_gradients(self, group: list[Batch]) -> tuple[float, ...]:
        """Fill `.grad` with the mean gradients of the batches, and carry the state on; each direction's mean loss."""
        results: list[StepResult] = []
        sums: list[Tensor] = []
        for index, batch in enumerate(group):
            result = self.gradients.backward(batch, self.state, step=self.progress.step * len(group) + index)
            self.state = result.state
            results.append(result)
            if len(group) > 1:
                new = [cast("Tensor", parameter.grad) for parameter in self.parameters]
                sums = [total + gradient for total, gradient in zip(sums, new, strict=True)] if sums else new
                for parameter in self.parameters:
                    parameter.grad = None  # the next batch must not fill what is being summed
        for parameter, total in zip(self.parameters, sums, strict=bool(sums)):
            parameter.grad = total / len(group)
        return tuple(sum(column) / len(group) for column in zip(*(result.losses for result in results), strict=True))

    def _not_finite(self, losses: tuple[float, ...]) -> str:
        for direction, loss in zip(("forward", "backward"), losses, strict=False):
            if not math.isfinite(loss):
                return f"the {direction} loss"
        for prefix, module in (("", self.bilm), ("softmax.", self.softmax)):
            for name, parameter in module.named_parameters():
                if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
                    return f"the gradient of {prefix}{name}"
        return "the norm of the gradient"

    def _how_to_continue(self) -> str:
        if checkpoints(self.run_dir):
            return f"the last checkpoint in {self.run_dir} is intact: resume it with a lower learning_rate"
        return f"{self.run_dir} has no checkpoint yet: resume it with a lower learning_rate, from the first step"

    def _evaluation_is_due(self) -> bool:
        every = self.config.evaluate_every
        step = self.progress.step
        due = step == self.config.num_steps or (every > 0 and step % every == 0)
        return due and (self.run_dir / HELD_OUT_NAME).exists()

    def _evaluate(self) -> HeldOutPerplexity:
        """Measure held-out perplexity; the folder `best` gets the weights when it is the lowest so far."""
        measured = self.ranks.broadcast_from_first(self._measure() if self.ranks.first else None)
        assert measured is not None
        if not math.isfinite(measured.mean):
            raise DivergenceError(
                f"step {self.progress.step}: the held-out perplexity is not finite, so training has diverged; start "
                f"again with a lower learning_rate, or resume {self.run_dir} with one, from a checkpoint before its "
                "loss rose"
            )
        self.progress = self.progress.evaluated(measured)
        if self.ranks.first and self.progress.best.num_evaluations_since == 0:
            folder = self.run_dir / BEST_DIR
            folder.mkdir(exist_ok=True)
            for name in (CONFIG_NAME, VOCABULARY_NAME):
                publish(self.run_dir / name, folder / name)
            save_model(folder / WEIGHTS_NAME, self.bilm, self.softmax, step=self.progress.step)
        return measured

    def _measure(self) -> HeldOutPerplexity:
        return held_out_perplexity(self.bilm, self.softmax, self.vocabulary, self.run_dir / HELD_OUT_NAME)

    def _packer(self, backward: bool, start: PackerState | None) -> Packer:
        stream = SentenceStream(
            self.shards,
            seed=self.config.seed,
            purpose="backward" if backward else "forward",
            position=None if start is None else start.position,
        )
        return Packer(
            stream,
            self.vocabulary,
            batch_size=self.config.batch_size,
            bptt_steps=self.config.bptt_steps,
            backward=backward,
            rows=None if start is None else start.rows,
            own=self.ranks.share(self.config.batch_size),
        )


def new_softmax(num_tokens: int, config: PretrainingConfig) -> Softmax:
    """A softmax over `num_tokens` tokens with random weights, scaled and biased as the config says."""
    softmax = Softmax(num_tokens=num_tokens, dim=config.bilm.projection_dim)
    with torch.no_grad():
        softmax.weight.mul_(config.softmax_scale)
        if config.zipf_bias:
            softmax.bias.copy_(log_uniform_probability(torch.arange(num_tokens), num_tokens=num_tokens).log())
    return softmax


class _TerminationSignal:
    """Records SIGTERM, which schedulers send before they kill, instead of ending the process."""

    def __init__(self) -> None:
        self.received = False

    def __enter__(self) -> _TerminationSignal:
        self.in_main_thread = threading.current_thread() is threading.main_thread()
        if self.in_main_thread:  # Python delivers signals to no other thread
            self.handler_before = signal.signal(signal.SIGTERM, self._receive)
        return self

    def __exit__(self, *error: object) -> None:
        if self.in_main_thread:
            signal.signal(signal.SIGTERM, self.handler_before)

    def _receive(self, number: int, frame: object) -> None:
        self.received = True
