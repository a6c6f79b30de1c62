"""Pretraining: corpus shards -> a biLM, in a run folder that can be killed at any moment and resumed."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from elmokit.layers.sampled_softmax import Softmax, log_uniform_probability
from elmokit.model.bilm import BiLM, BiLMState
from elmokit.pretraining.batches import Packer, batches
from elmokit.pretraining.checkpoints import (
    PackerState,
    Progress,
    load_checkpoint,
    newest_checkpoint,
    save_checkpoint,
)
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.corpus import SentenceStream
from elmokit.pretraining.gradients import GradientMaker, StepResult
from elmokit.runs import append_json_line, atomic_write
from elmokit.text.vocabulary import Vocabulary

CONFIG_FILE = "config.json"
VOCABULARY_FILE = "vocabulary.txt"
METRICS_FILE = "metrics.jsonl"


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
    config = dataclasses.replace(config, precision=_resolved_precision(config.precision, _device(device)))
    run = _Run(list(shards), vocabulary, run_dir, config, device=_device(device))
    next(SentenceStream(run.shards, shuffle=False))  # an empty or unreadable corpus fails before anything is written
    run_dir.mkdir(parents=True, exist_ok=True)
    with atomic_write(run_dir / VOCABULARY_FILE) as temporary:
        vocabulary.write(temporary)
    _write_config(run_dir, run.shards, config)
    run.train()
    return run_dir


def resume(run_dir: Path, settings: Sequence[str] = (), *, device: str | None = None) -> Path:
    """Go on from a run's newest checkpoint; `settings` (`field=value`) may change what does not change the model."""
    record = _read_config(run_dir)
    shards = [Path(shard) for shard in record.pop("shards")]
    before = PretrainingConfig.from_json(record)
    config = with_settings(before, settings)
    if config.bilm != before.bilm or config.batch_size != before.batch_size or config.optimizer != before.optimizer:
        raise ValueError(
            "a resumed run keeps its model, its batch_size and its optimizer; start a new run to change them"
        )
    run = _Run(shards, Vocabulary.read(run_dir / VOCABULARY_FILE), run_dir, config, device=_device(device))
    run.load(newest_checkpoint(run_dir))
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
        torch.manual_seed(config.seed)
        self.bilm = BiLM(config.bilm).to(device)
        self.softmax = _new_softmax(len(vocabulary), config).to(device)
        self.optimizer = _optimizer(config, [*self.bilm.parameters(), *self.softmax.parameters()])
        self.gradients = GradientMaker(self.bilm, self.softmax, config, device=device)
        self.state: BiLMState | None = None
        self.step = 0
        self.num_tokens = 0
        self.seconds = 0.0
        self.window = _Window([])
        self.packers = [self._packer(backward, None) for backward in (False, True)[: config.bilm.num_directions]]

    def load(self, checkpoint: Path) -> None:
        progress, self.state = load_checkpoint(
            checkpoint, bilm=self.bilm, softmax=self.softmax, optimizer=self.optimizer
        )
        self.step, self.num_tokens, self.seconds = progress.step, progress.num_tokens, progress.seconds
        self.window = _Window(progress.unlogged_losses)
        self.packers = [self._packer(index == 1, saved) for index, saved in enumerate(progress.packers)]
        _drop_metrics_after(self.run_dir / METRICS_FILE, self.step)

    def train(self) -> None:
        config = self.config
        source = batches(self.packers, max_characters_per_token=config.bilm.max_characters_per_token)
        tokens_per_step = config.batch_size * config.bptt_steps
        with tqdm(total=config.num_steps, initial=self.step, unit="step", file=sys.stderr, disable=None) as bar:
            while self.step < config.num_steps:
                began = time.monotonic()
                result = self._one_step(next(source))
                seconds = time.monotonic() - began
                self.seconds += seconds
                self.window.add(result, num_tokens=tokens_per_step, seconds=seconds)
                bar.set_postfix_str(self.window.text(), refresh=False)
                bar.update()
                if self.step % config.log_every == 0 or self.step == config.num_steps:
                    self._log()
                if self.step % config.checkpoint_every == 0 or self.step == config.num_steps:
                    self._save()

    def _one_step(self, batch: Any) -> StepResult:
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
        self.window = _Window([])


class _Window:
    """What the progress line and metrics.jsonl say of the steps since the last line."""

    def __init__(self, losses: list[list[float]]) -> None:
        self.step_losses = losses
        self.num_tokens = 0
        self.seconds = 0.0

    def add(self, result: StepResult, *, num_tokens: int, seconds: float) -> None:
        self.step_losses.append(list(result.losses))
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


def _new_softmax(num_tokens: int, config: PretrainingConfig) -> Softmax:
    softmax = Softmax(num_tokens=num_tokens, dim=config.bilm.projection_dim)
    with torch.no_grad():
        softmax.weight.mul_(config.softmax_scale)
        if config.zipf_bias:
            softmax.bias.copy_(log_uniform_probability(torch.arange(num_tokens), num_tokens=num_tokens).log())
    return softmax


def _optimizer(config: PretrainingConfig, parameters: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
    if config.optimizer == "adagrad":
        return torch.optim.Adagrad(
            parameters, lr=config.learning_rate, initial_accumulator_value=1.0, eps=0.0, fused=_can_fuse(parameters)
        )
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[config.optimizer]
    return kind(
        parameters,
        lr=config.learning_rate,
        betas=config.adam_betas,
        weight_decay=config.weight_decay if config.optimizer == "adamw" else 0.0,
        fused=True,
    )


def _can_fuse(parameters: list[torch.nn.Parameter]) -> bool:
    return all(parameter.device.type == "cpu" for parameter in parameters)  # CUDA has no fused Adagrad


def _device(name: str | None) -> torch.device:
    return torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))


def _resolved_precision(precision: str, device: torch.device) -> str:
    """`auto` becomes bfloat16 on CUDA, and on a CPU that proves to multiply it at least 1.3 times as fast."""
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bfloat16"
    return "bfloat16" if _product_seconds(torch.float32) > 1.3 * _product_seconds(torch.bfloat16) else "float32"


def _product_seconds(dtype: torch.dtype) -> float:
    left, right = torch.ones(64, 1024, dtype=dtype), torch.ones(1024, 1024, dtype=dtype)
    times: list[float] = []
    for _ in range(20):
        began = time.perf_counter()
        torch.mm(left, right)
        times.append(time.perf_counter() - began)
    return min(times)


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
