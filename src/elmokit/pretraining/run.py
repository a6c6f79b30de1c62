"""A pretraining run in motion: batches -> steps -> log lines, evaluations and checkpoints, until the last step."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from torch import Tensor

from elmokit.corpus.batches import Batch, Packer, batches
from elmokit.corpus.stream import SentenceStream
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.model.formats.native import CONFIG_NAME, VOCABULARY_NAME, WEIGHTS_NAME
from elmokit.pretraining.checkpoints import (
    PackerState,
    Progress,
    checkpoints,
    load_checkpoint,
    publish,
    save_checkpoint,
    save_model,
)
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.evaluation import BestSoFar, HeldOutPerplexity, held_out_perplexity
from elmokit.pretraining.gradients import LossAndGradients, StepResult
from elmokit.pretraining.metrics_log import MetricsLog
from elmokit.pretraining.progress_line import LossWindow, ProgressLine
from elmokit.pretraining.ranks import Ranks
from elmokit.pretraining.run_folder import HELD_OUT_NAME
from elmokit.pretraining.setup import new_optimizer, new_softmax
from elmokit.runs.folder import METRICS_NAME
from elmokit.runs.metrics_log import keep_records
from elmokit.runs.training import DivergenceError
from elmokit.text.vocabulary import Vocabulary

BEST_DIR = "best"


class Run:
    """The moving parts of a run, from the first step or from a checkpoint; every process of several has one."""

    def __init__(
        self, run_dir: Path, config: PretrainingConfig, shards: list[Path], vocabulary: Vocabulary, *, ranks: Ranks
    ) -> None:
        self.run_dir = run_dir
        self.config = config
        self.shards = [shard.resolve() for shard in shards]
        self.vocabulary = vocabulary
        self.ranks = ranks
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.bilm = BiLM(config.bilm)
            self.softmax = new_softmax(len(vocabulary), config)
        for module in (self.bilm, self.softmax):
            module.to(ranks.device, torch.float64 if config.precision == "float64" else torch.float32)
        self.optimizer = new_optimizer(config, self.bilm, self.softmax)
        self.gradients = LossAndGradients(self.bilm, self.softmax, config, device=ranks.device, rank=ranks.rank)
        self.state: BiLMState | None = None
        self.step = 0
        self.num_tokens = 0
        self.seconds = 0.0
        self.best = BestSoFar()
        self.window = LossWindow([])
        self.log: MetricsLog | None = None
        self.packers = [self._packer(backward, None) for backward in (False, True)[: config.bilm.num_directions]]

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        return [*self.bilm.parameters(), *self.softmax.parameters()]

    @property
    def finished(self) -> bool:
        """After the last step, or when patience with the held-out perplexity has come to its end."""
        patience = self.config.patience
        return self.step >= self.config.num_steps or 0 < patience <= self.best.num_evaluations_since

    def start_from(self, bilm: BiLM, softmax: Softmax) -> None:
        """Take over trained weights; the optimiser and the place in the text stay at their beginning."""
        self.bilm.load_state_dict(bilm.state_dict())
        self.softmax.load_state_dict(softmax.state_dict())

    def load_newest(self) -> None:
        """The newest checkpoint that can be read, whose weights are then the model's; a damaged one is passed over."""
        for checkpoint in checkpoints(self.run_dir):
            try:
                self._load(checkpoint)
                if self.ranks.first:  # a kill may have come between the checkpoint and this
                    publish(checkpoint / WEIGHTS_NAME, self.run_dir / WEIGHTS_NAME)
                break
            except (OSError, ValueError, KeyError, SafetensorError) as error:
                warnings.warn(f"{checkpoint} cannot be read ({error}); going back to the one before", stacklevel=3)

    def _load(self, checkpoint: Path) -> None:
        progress, state = load_checkpoint(checkpoint, bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer)
        self.state = self.ranks.share_state(state)
        self.step, self.num_tokens, self.seconds = progress.step, progress.num_tokens, progress.seconds
        self.best = progress.best
        self.window = LossWindow(progress.unlogged_losses)
        self.packers = [self._packer(index == 1, saved) for index, saved in enumerate(progress.packers)]

    def train(self) -> None:
        """Step until the end; SIGTERM, to any of the processes, ends them all after a step and a checkpoint."""
        config = self.config
        if self.ranks.first:
            keep_records(self.run_dir / METRICS_NAME, lambda record: record["step"] <= self.step)
            self.log = MetricsLog(self.run_dir, step=self.step, tensorboard=config.tensorboard)
        source = batches(self.packers, max_characters_per_token=config.bilm.max_characters_per_token)
        line = ProgressLine(num_steps=config.num_steps, step=self.step, shown=self.ranks.first)
        with line, _Termination() as termination:
            while not self.finished:
                began = time.monotonic()
                losses = self._one_step([next(source) for _ in range(config.accumulate)])
                seconds = time.monotonic() - began
                self.seconds += seconds
                self.window.add(losses, num_tokens=config.tokens_per_step, seconds=seconds)
                line.advance(self.window)
                measured = self._evaluate() if self._evaluation_is_due() else None
                if self.finished or self.step % config.log_every == 0:
                    line.log(self.window)
                    self._log_losses()
                if measured is not None:
                    self._log({"heldout": measured.to_json()})
                terminated = self.ranks.any(termination.asked)
                if self.finished or terminated or self.step % config.checkpoint_every == 0:
                    self.save()
                if terminated and not self.finished:
                    if self.ranks.first:
                        print(f"\nstopped at step {self.step}; go on with --resume {self.run_dir}", file=sys.stderr)
                    sys.exit(128 + signal.SIGTERM)

    def save(self) -> None:
        """Write a checkpoint, which the processes make together and the first one writes."""
        state = self.ranks.gather_state(self.state)
        if self.ranks.first:
            save_checkpoint(
                self.run_dir,
                bilm=self.bilm,
                softmax=self.softmax,
                optimizer=self.optimizer,
                state=state,
                progress=Progress(
                    step=self.step,
                    num_tokens=self.num_tokens,
                    seconds=self.seconds,
                    packers=[PackerState.of(packer) for packer in self.packers],
                    unlogged_losses=self.window.step_losses,
                    best=self.best,
                ),
                keep=self.config.keep_checkpoints,
            )

    def _one_step(self, group: list[Batch]) -> tuple[float, ...]:
        """One step of the optimiser on a group of batches; each direction's mean loss over them and all processes."""
        config = self.config
        losses = self._fill_gradients(group)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        self.ranks.average(gradients)
        losses = self.ranks.mean(losses)
        norm = torch.nn.utils.get_total_norm(gradients, foreach=True)
        if not (all(map(math.isfinite, losses)) and bool(torch.isfinite(norm))):
            raise DivergenceError(
                f"step {self.step}: {self._not_finite(losses)} is not finite, so training has diverged; the last "
                f"checkpoint in {self.run_dir} is good: resume it with a lower learning_rate"
            )
        if norm > config.clip_norm:
            torch.nn.utils.clip_grads_with_norm_(self.parameters, config.clip_norm, norm, foreach=True)
        for settings in self.optimizer.param_groups:
            settings["lr"] = config.learning_rate_at(self.step)
        self.optimizer.step()
        self.step += 1
        self.num_tokens += config.tokens_per_step
        return losses

    def _fill_gradients(self, group: list[Batch]) -> tuple[float, ...]:
        """Gradients of the mean loss of the batches, one after the other, the state carried from each to the next."""
        results: list[StepResult] = []
        sums: list[Tensor] = []
        for index, batch in enumerate(group):
            result = self.gradients.run(batch, self.state, step=self.step * len(group) + index)
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

    def _evaluation_is_due(self) -> bool:
        every = self.config.evaluate_every
        due = self.step == self.config.num_steps or (every > 0 and self.step % every == 0)
        return due and (self.run_dir / HELD_OUT_NAME).exists()

    def _evaluate(self) -> HeldOutPerplexity:
        """Measure, and keep the weights in the folder `best` if they are."""
        measured = self.ranks.broadcast_from_first(self._measure() if self.ranks.first else None)
        assert measured is not None
        self.best = self.best.after(measured)
        if self.ranks.first and self.best.num_evaluations_since == 0:
            folder = self.run_dir / BEST_DIR
            folder.mkdir(exist_ok=True)
            for name in (CONFIG_NAME, VOCABULARY_NAME):
                publish(self.run_dir / name, folder / name)
            save_model(folder / WEIGHTS_NAME, self.bilm, self.softmax, step=self.step)
        return measured

    def _measure(self) -> HeldOutPerplexity:
        return held_out_perplexity(self.bilm, self.softmax, self.vocabulary, self.run_dir / HELD_OUT_NAME)

    def _packer(self, backward: bool, saved: PackerState | None) -> Packer:
        stream = SentenceStream(
            self.shards,
            seed=self.config.seed,
            purpose="backward" if backward else "forward",
            position=None if saved is None else saved.position,
        )
        return Packer(
            stream,
            self.vocabulary,
            batch_size=self.config.batch_size,
            bptt_steps=self.config.bptt_steps,
            backward=backward,
            rows=None if saved is None else saved.rows,
            own=self.ranks.share(self.config.batch_size),
        )

    def _log_losses(self) -> None:
        self._log(
            {
                "loss": self.window.loss,
                "losses": self.window.losses,
                "learning_rate": self.config.learning_rate_at(self.step - 1),
                "tokens_per_second": round(self.window.tokens_per_second, 1),
            }
        )
        self.window = LossWindow([])

    def _log(self, values: dict[str, object]) -> None:
        if self.log is not None:
            when: dict[str, object] = {"step": self.step, "num_tokens": self.num_tokens}
            self.log.write(when | values | {"seconds": round(self.seconds, 1)})


class _Termination:
    """Notes SIGTERM, which schedulers send before they kill, instead of dying of it."""

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> _Termination:
        self.in_main_thread = threading.current_thread() is threading.main_thread()
        if self.in_main_thread:  # Python gives signals to no other
            self.before = signal.signal(signal.SIGTERM, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        if self.in_main_thread:
            signal.signal(signal.SIGTERM, self.before)

    def _note(self, number: int, frame: object) -> None:
        self.asked = True
