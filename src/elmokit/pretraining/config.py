"""Settings of a pretraining run, as a frozen dataclass and as `field=value`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from elmokit.model.config import BiLMConfig
from elmokit.runs.settings import change_settings, check_bounds, check_choices

CHOICES: dict[str, tuple[str, ...]] = {
    "softmax": ("sampled", "full"),
    "optimizer": ("adagrad", "adam", "adamw", "muon"),
    "muon_for": ("lstm", "all"),
    "schedule": ("constant", "linear", "cosine"),
    "directions": ("auto", "separate", "stacked"),
    "precision": ("float32", "bfloat16", "float64", "auto"),
}

KEPT = ("batch_size", "optimizer", "muon_for", "seed", "evaluate_sentences")
"""Settings that a resumed run cannot change, besides the model."""
MOST_AT_ONCE = 1 << 20
"""Upper limit of batch_size, bptt_steps and accumulate."""


@dataclass(frozen=True)
class PretrainingConfig:
    """Settings of a pretraining run. The defaults are the released models' (docs/model.md, sections 6 to 11)."""

    bilm: BiLMConfig = field(default_factory=BiLMConfig)
    """Sizes of the model; its fields can be set by name too."""
    num_steps: int = 1_000_000
    """Optimiser steps of the whole run."""
    batch_size: int = 128
    """Parallel streams of text, per direction, over all processes together."""
    bptt_steps: int = 20
    """Tokens between truncations of backpropagation, per stream."""
    accumulate: int = 1
    """Batches whose gradients are averaged into one step, if memory does not hold a larger batch."""
    reset_state: bool = False
    """True resets the state at every sentence start, as stateless embedding does; the released runs carry it over."""
    softmax: str = "sampled"
    """sampled (log-uniform negatives, corrected for their probability) or full."""
    num_negatives: int = 8192
    """Distinct negatives of the sampled softmax, drawn once per direction and step."""
    softmax_scale: float = 1.0
    """Factor on the softmax weights' initial spread of 1/sqrt(D)."""
    zipf_bias: bool = False
    """True starts the softmax bias at the log of the log-uniform (Zipf) probability; the released runs start at 0."""
    optimizer: str = "adagrad"
    """adagrad (accumulator from 1, no epsilon), adam, adamw, or muon (for the matrices of `muon_for`; adamw for the
    rest)."""
    muon_for: str = "lstm"
    """lstm (the LSTMs' matrices) or all (also the matrices of convolutions, highway layers and projection). Embedding
    and softmax always use adamw, because their rows are characters and words."""
    learning_rate: float = 0.2
    """Highest learning rate of the schedule."""
    adam_betas: tuple[float, float] = (0.9, 0.999)
    """Decay of Adam's two averages, also for adamw and muon."""
    weight_decay: float = 0.0
    """Decoupled decay per step and learning rate: of all weights with adamw, of Muon's matrices with muon."""
    schedule: str = "constant"
    """Learning rate after the warm-up: constant, or linear or cosine decay to 0 over the last `decay_steps`."""
    warmup_steps: int = 0
    """Steps over which the learning rate rises linearly from 0."""
    decay_steps: int = 0
    """Number of steps, at the end, over which the learning rate decays; 0 means all steps after the warm-up."""
    decay_share: float = 0.0
    """Share of `num_steps`, at the end, over which the learning rate decays, instead of `decay_steps`; 0: not used."""
    clip_norm: float = 10.0
    """Largest global norm of the gradient of loss x bptt_steps."""
    dropout_rate: float = 0.1
    """Dropout at the input of every LSTM layer and at the top output."""
    precision: str = "auto"
    """Type of the matrix products: float32, bfloat16, or auto (bfloat16 if the hardware multiplies it faster); float64
    also keeps the weights in double precision, for tests of exactness."""
    directions: str = "auto"
    """separate (each direction by itself; on a CPU, each on a thread), stacked (both in each matrix product; on an
    NVIDIA GPU, a batch is one CUDA graph), or auto (stacked on NVIDIA GPUs). Both compute the same."""
    seed: int = 0
    """Seed for initial weights, shuffling, negatives and dropout."""
    checkpoint_every: int = 1250
    """Steps between checkpoints; there is always one after the last step."""
    keep_checkpoints: int = 2
    """Number of newest checkpoints that stay on disk."""
    keep_every: int = 0
    """Steps between checkpoints that stay on disk for good, a multiple of `checkpoint_every`; 0 keeps none."""
    log_every: int = 50
    """Steps between lines in metrics.jsonl."""
    evaluate_every: int = 0
    """Steps between evaluations on the held-out text, if there is any; 0 evaluates only after the last step."""
    evaluate_sentences: int = 1000
    """Number of held-out sentences per evaluation, spread evenly over the text; 0 means all."""
    patience: int = 0
    """The run ends after this many evaluations in a row without a better perplexity; 0 trains to the last step."""
    tensorboard: bool = False
    """Whether to write the losses for TensorBoard too (pip install 'elmokit[tb]')."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "adam_betas", tuple(self.adam_betas))
        at_once = ("batch_size", "bptt_steps", "accumulate")
        amounts = ("warmup_steps", "decay_steps", "seed", "weight_decay", "softmax_scale")
        check_bounds(
            self,
            positive=("num_steps", *at_once, "checkpoint_every", "keep_checkpoints", "log_every", "num_negatives"),
            counts=(*amounts, "evaluate_every", "evaluate_sentences", "patience"),
            above_zero=("learning_rate", "clip_norm"),
            rates=("dropout_rate", "adam_betas"),
        )
        check_choices(self, CHOICES)
        for name in at_once:
            if getattr(self, name) > MOST_AT_ONCE:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most {MOST_AT_ONCE}")
        if not 0 <= self.decay_share <= 1 or (self.decay_share and self.decay_steps):
            raise ValueError(
                f"decay_share is {self.decay_share} and decay_steps {self.decay_steps}; expected a share from 0 to 1, "
                "and one of the two to be 0"
            )
        if self.keep_every < 0 or self.keep_every % self.checkpoint_every:
            raise ValueError(
                f"keep_every is {self.keep_every}; expected a multiple of checkpoint_every, {self.checkpoint_every}"
            )
        if self.bilm.lookup is not None:
            raise ValueError(
                "a model that looks words up in dictionaries cannot be trained; expected one that reads bytes"
            )

    @property
    def tokens_per_step(self) -> int:
        """Predicted tokens of one step, per direction."""
        return self.batch_size * self.bptt_steps * self.accumulate

    def learning_rate_at(self, step: int) -> float:
        """Learning rate of optimiser step `step`, counted from 0."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        decay_steps = self.decay_steps or max(1, self.num_steps - self.warmup_steps)
        if self.decay_share:
            decay_steps = max(1, round(self.decay_share * self.num_steps))
        left = (self.num_steps - step) / decay_steps
        if self.schedule == "constant" or left >= 1:
            return self.learning_rate
        if self.schedule == "linear":
            return self.learning_rate * left
        return self.learning_rate * 0.5 * (1 - math.cos(math.pi * left))

    def to_json(self) -> dict[str, object]:
        """Fields by name, with the biLM's fields in a nested dictionary."""
        values: dict[str, Any] = dataclasses.asdict(self)
        del values["bilm"]["lookup"]
        return values


def with_settings(config: PretrainingConfig, settings: Sequence[str]) -> PretrainingConfig:
    """Apply `field=value` settings to `config`; fields of the biLM need no prefix (`lstm_dim=512`)."""
    changed = change_settings({"pretraining": config, "bilm": config.bilm}, settings)
    return dataclasses.replace(changed["pretraining"], bilm=changed["bilm"])
