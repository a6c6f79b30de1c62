"""Pretraining: corpus shards -> a biLM, in a run folder that can be killed at any moment and resumed."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.batches import Batch, Packer, batches
from elmokit.pretraining.checkpoints import PackerState, Progress, checkpoints, load_checkpoint, save_checkpoint
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.corpus import SentenceStream
from elmokit.pretraining.gradients import GradientMaker, StepResult
from elmokit.pretraining.progress_line import LossWindow, ProgressLine
from elmokit.pretraining.setup import find_device, new_optimizer, new_softmax, resolved
from elmokit.runs import append_json_line, atomic_write
from elmokit.text.vocabulary import Vocabulary

CONFIG_FILE = "config.json"
VOCABULARY_FILE = "vocabulary.txt"
METRICS_FILE = "metrics.jsonl"
CARD_FILE = "README.md"


def pretrain(
    shards: Sequence[Path],
    *,
    vocabulary_path: Path,
    run_dir: Path,
    config: PretrainingConfig,
    device: str | None = None,
) -> Path:
    """Train a biLM on text shards (one tokenised sentence a line) and return the run folder.

    The folder is also a model in the native format: its `model.safetensors` holds the newest checkpoint's weights.
    Raises ValueError when the folder already holds a run, and for shards or a vocabulary that cannot be read.
    """
    if (run_dir / CONFIG_FILE).exists() or (run_dir / "checkpoints").exists():
        raise ValueError(f"{run_dir} already holds a run; resume it with --resume {run_dir}, or choose another folder")
    for shard in shards:
        if not shard.is_file():
            raise FileNotFoundError(f"no shard {shard}; expected a text file of one tokenised sentence a line")
    vocabulary = Vocabulary.read(vocabulary_path)
    found = find_device(device)
    config = resolved(config, num_tokens=len(vocabulary), device=found)
    run = _Run(list(shards), vocabulary, run_dir, config, device=found)
    next(SentenceStream(run.shards, shuffle=False))  # an empty or unreadable corpus fails before anything is written
    run_dir.mkdir(parents=True, exist_ok=True)
    with atomic_write(run_dir / VOCABULARY_FILE) as temporary:
        vocabulary.write(temporary)
    with atomic_write(run_dir / CARD_FILE) as temporary:
        temporary.write_text(_card(run), encoding="utf-8")
    _write_config(run_dir, run.shards, config)
    run.train()
    return run_dir


def resume(run_dir: Path, settings: Sequence[str] = (), *, device: str | None = None) -> Path:
    """Go on from a run's newest checkpoint, or from its start if it was stopped before the first.

    `settings` (`field=value`) may change what does not change the model or the text's order.
    """
    record = _read_config(run_dir)
    shards = [Path(shard) for shard in record.pop("shards")]
    before = PretrainingConfig.from_json(record)
    config = with_settings(before, settings)
    for name in ("bilm", "batch_size", "optimizer", "seed"):
        if getattr(config, name) != getattr(before, name):
            raise ValueError(
                "a resumed run keeps its model, batch_size, optimizer and seed; start a new run to change them"
            )
    run = _Run(shards, Vocabulary.read(run_dir / VOCABULARY_FILE), run_dir, config, device=find_device(device))
    run.load_newest()
    _write_config(run_dir, shards, config)
    run.train()
    return run_dir


class DivergenceError(ValueError):
    """A loss or a gradient became NaN or infinite; nothing of that step was kept."""


class _Run:
    """The moving parts of a run, from the first step or from a checkpoint."""

    def __init__(
        self,
        shards: list[Path],
        vocabulary: Vocabulary,
        run_dir: Path,
        config: PretrainingConfig,
        *,
        device: torch.device,
    ) -> None:
        self.shards = [shard.resolve() for shard in shards]
        self.vocabulary = vocabulary
        self.run_dir = run_dir
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.bilm = BiLM(config.bilm).to(device)
            self.softmax = new_softmax(len(vocabulary), config).to(device)
        self.optimizer = new_optimizer(config, [*self.bilm.parameters(), *self.softmax.parameters()])
        self.gradients = GradientMaker(self.bilm, self.softmax, config, device=device)
        self.state: BiLMState | None = None
        self.step = 0
        self.num_tokens = 0
        self.seconds = 0.0
        self.window = LossWindow([])
        self.packers = [self._packer(backward, None) for backward in (False, True)[: config.bilm.num_directions]]

    def load_newest(self) -> None:
        """The newest checkpoint that can be read; a damaged one is passed over with a warning."""
        for checkpoint in checkpoints(self.run_dir):
            try:
                self._load(checkpoint)
                break
            except (OSError, ValueError, KeyError, SafetensorError) as error:
                warnings.warn(f"{checkpoint} cannot be read ({error}); going back to the one before", stacklevel=3)
        _drop_metrics_after(self.run_dir / METRICS_FILE, self.step)

    def _load(self, checkpoint: Path) -> None:
        progress, self.state = load_checkpoint(
            checkpoint, bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer
        )
        self.step, self.num_tokens, self.seconds = progress.step, progress.num_tokens, progress.seconds
        self.window = LossWindow(progress.unlogged_losses)
        self.packers = [self._packer(index == 1, saved) for index, saved in enumerate(progress.packers)]

    def train(self) -> None:
        """Step until the last one; SIGTERM ends the process after a step and a checkpoint."""
        config = self.config
        source = batches(self.packers, max_characters_per_token=config.bilm.max_characters_per_token)
        tokens_per_step = config.batch_size * config.bptt_steps
        with ProgressLine(num_steps=config.num_steps, step=self.step) as line, _Termination() as termination:
            while self.step < config.num_steps:
                began = time.monotonic()
                result = self._one_step(next(source))
                seconds = time.monotonic() - began
                self.seconds += seconds
                self.window.add(result.losses, num_tokens=tokens_per_step, seconds=seconds)
                line.advance(self.window)
                last = self.step == config.num_steps
                if last or self.step % config.log_every == 0:
                    line.log(self.window)
                    self._log()
                if last or termination.asked or self.step % config.checkpoint_every == 0:
                    self._save()
                if termination.asked and not last:
                    print(f"\nstopped at step {self.step}; go on with --resume {self.run_dir}", file=sys.stderr)
                    sys.exit(128 + signal.SIGTERM)

    def _one_step(self, batch: Batch) -> StepResult:
        config = self.config
        result = self.gradients.run(batch, self.state, step=self.step)
        parameters = [*self.bilm.parameters(), *self.softmax.parameters()]
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None], foreach=True)
        if not (math.isfinite(result.loss) and bool(torch.isfinite(norm))):
            raise DivergenceError(
                f"step {self.step}: {self._not_finite(result)} is not finite, so training has diverged; the last "
                f"checkpoint in {self.run_dir} is good: resume it with a lower learning_rate"
            )
        if norm > config.clip_norm:
            torch.nn.utils.clip_grads_with_norm_(parameters, config.clip_norm, norm, foreach=True)
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate_at(self.step)
        self.optimizer.step()
        self.state = result.state
        self.step += 1
        self.num_tokens += config.batch_size * config.bptt_steps
        return result

    def _not_finite(self, result: StepResult) -> str:
        for direction, loss in zip(("forward", "backward"), result.losses, strict=False):
            if not math.isfinite(loss):
                return f"the {direction} loss"
        for prefix, module in (("", self.bilm), ("softmax.", self.softmax)):
            for name, parameter in module.named_parameters():
                if parameter.grad is not None and not bool(torch.isfinite(parameter.grad).all()):
                    return f"the gradient of {prefix}{name}"
        return "the norm of the gradient"

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
        )

    def _save(self) -> None:
        save_checkpoint(
            self.run_dir,
            bilm=self.bilm,
            softmax=self.softmax,
            optimizer=self.optimizer,
            state=self.state,
            progress=Progress(
                step=self.step,
                num_tokens=self.num_tokens,
                seconds=self.seconds,
                packers=[PackerState.of(packer) for packer in self.packers],
                unlogged_losses=self.window.step_losses,
            ),
            keep=self.config.keep_checkpoints,
        )

    def _log(self) -> None:
        append_json_line(
            self.run_dir / METRICS_FILE,
            {
                "step": self.step,
                "num_tokens": self.num_tokens,
                "loss": self.window.loss,
                "losses": self.window.losses,
                "learning_rate": self.config.learning_rate_at(self.step - 1),
                "tokens_per_second": round(self.window.tokens_per_second, 1),
                "seconds": round(self.seconds, 1),
            },
        )
        self.window = LossWindow([])


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


def _card(run: _Run) -> str:
    config = run.config
    return (
        f"# {run.run_dir.name}\n\n"
        f"A biLM ({config.bilm.num_parameters:,} parameters without the softmax) that `elmokit pretrain` is training, "
        f"or has trained, for {config.num_steps:,} steps of {config.batch_size} x {config.bptt_steps} tokens on "
        f"{', '.join(shard.name for shard in run.shards)}, with a vocabulary of {len(run.vocabulary):,} tokens.\n"
        "`config.json` has all settings, `metrics.jsonl` how it goes.\n"
    )


def _write_config(run_dir: Path, shards: Sequence[Path], config: PretrainingConfig) -> None:
    settings = config.to_json()
    record = {
        "format": "elmokit",
        "version": 1,
        "bilm": settings.pop("bilm"),
        "pretraining": {**settings, "shards": [str(shard) for shard in shards]},
    }
    with atomic_write(run_dir / CONFIG_FILE) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _read_config(run_dir: Path) -> dict[str, Any]:
    path = run_dir / CONFIG_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{run_dir} is no run: it has no {CONFIG_FILE}")
    record = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(record.get("pretraining"), dict) or "shards" not in record["pretraining"]:
        raise ValueError(f"{path} describes a model, not a pretraining run; there is nothing to resume")
    return {**record["pretraining"], "bilm": record["bilm"]}


def _drop_metrics_after(path: Path, step: int) -> None:
    """Lines of steps that the checkpoint does not know are of a future that will be made again."""
    if not path.exists():
        return
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if json.loads(line)["step"] <= step]
    with atomic_write(path) as temporary:
        temporary.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
