"""Settings before the first step: what is checked of them, made definite and warned of."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.files.json_fields import Fields
from elmokit.pretraining.config import KEPT, PretrainingConfig, with_settings
from elmokit.pretraining.logging import require_tensorboard
from elmokit.pretraining.position import PretrainingProgress
from elmokit.pretraining.run_folder import RunRecord, TextSize
from elmokit.pretraining.shards import read_text
from elmokit.runs.folder import HELD_OUT_NAME
from elmokit.system.messages import plural
from elmokit.system.python import warn_caller
from elmokit.text.vocabulary import Vocabulary

LEAST_BETWEEN_MEASUREMENTS = 20
"""Steps between two measurements of held-out text in a fine-tuned run that would measure once per pass; they take about
as long as one measurement."""
MOST_PASSES = 10
"""Passes over text that need no warning without held-out text or dropout, those of the released models (bilm-tf)."""
MOST_WARM_UP = 1 / 3
"""Share of the steps that may be warm-up without a warning."""


def check_can_train(config: PretrainingConfig, *, has_held_out: bool) -> None:
    """Raise ValueError, before anything is written, for settings that would fail later, or be useless."""
    if config.patience and not (has_held_out and config.evaluate_every):
        raise ValueError(
            "patience counts evaluations; give held-out text (--held-out FILE, or held_out=[FILE]) and evaluate_every=N"
        )
    read_again = json.loads(json.dumps(config.to_json(), allow_nan=False))
    PretrainingConfig.from_json(Fields("the settings", read_again))  # or the run's config.json could not be read
    if config.tensorboard:
        require_tensorboard()


def check_can_continue(
    run_dir: Path, config: PretrainingConfig, progress: PretrainingProgress, *, is_changed: bool
) -> None:
    """Raise an error for changes that would do nothing, because the run has ended, and if its held-out text is gone."""
    step, best = progress.step, progress.best
    if is_changed and config.num_steps < step:
        raise ValueError(f"num_steps is {config.num_steps}; {run_dir} is at step {step}, so expected at least that")
    if is_changed and config.num_steps > step and progress.finished(config):
        raise ValueError(
            f"{run_dir} stopped at step {step} after {plural(best.num_evaluations_since, 'evaluation')} without "
            "improvement; patience=0 (or a larger one) trains on"
        )
    held_out = run_dir / HELD_OUT_NAME
    if best.perplexity is not None and not progress.finished(config) and not held_out.is_file():
        raise FileNotFoundError(f"{held_out} is gone, on which the run measures its perplexities; put it back")


def changed(before: PretrainingConfig, settings: Sequence[str]) -> PretrainingConfig:
    """The config of a resumed run with other settings. Raises ValueError for those that such a run keeps."""
    config = with_settings(before, settings)
    if any(getattr(config, name) != getattr(before, name) for name in ("bilm", *KEPT)):
        raise ValueError(f"a resumed run keeps its model, {', '.join(KEPT)}; start a new run to change them")
    return config


def settled(
    config: PretrainingConfig,
    shards: Sequence[Path],
    vocabulary: Vocabulary,
    *,
    device: torch.device,
    held_out: Sequence[str],
    each_pass: bool,
) -> RunRecord:
    """The record of a new run with definite settings and with its text, which is read to its end, and warned of.

    each_pass: whether held-out text is measured after each pass over the text, if that is sooner than `evaluate_every`.
    Raises as `read_text` does.
    """
    config = resolved(config, num_tokens=len(vocabulary), device=device)
    record = read_text(config, shards, vocabulary, held_out)
    assert record.text is not None
    if each_pass and held_out:
        steps = max(LEAST_BETWEEN_MEASUREMENTS, int(record.text.steps_per_pass(config)))
        config = replace(config, evaluate_every=min(config.evaluate_every or steps, steps))
    warn_of_settings(config, record.text, has_held_out=bool(held_out))
    return replace(record, config=config)


def resolved(config: PretrainingConfig, *, num_tokens: int, device: torch.device) -> PretrainingConfig:
    """Replace the settings that depend on the machine or the vocabulary by definite ones, as the run records them.

    `precision="auto"` becomes bfloat16 on GPUs with instructions for it (of NVIDIA's, those since Ampere), and on a CPU
    that multiplies it at least 1.3 times as fast as float32.
    If the vocabulary has no more tokens than negatives are to be drawn, the full softmax is used, with a warning.
    """
    if config.softmax == "sampled" and config.num_negatives >= num_tokens:
        warn_caller(
            f"the vocabulary has {num_tokens:,} tokens and num_negatives is {config.num_negatives:,}: "
            "training with the full softmax"
        )
        config = replace(config, softmax="full")
    if config.precision != "auto":
        return config
    if device.type != "cpu":
        fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = _product_seconds(torch.float32) > 1.3 * _product_seconds(torch.bfloat16)
    return replace(config, precision="bfloat16" if fast else "float32")


def _product_seconds(dtype: torch.dtype) -> float:
    left, right = torch.ones(64, 1024, dtype=dtype), torch.ones(1024, 1024, dtype=dtype)
    times: list[float] = []
    while len(times) < 20 and sum(times) < 0.1:  # what is slow shows at once
        began = time.perf_counter()
        torch.mm(left, right)
        times.append(time.perf_counter() - began)
    return min(times)


def warn_of_settings(config: PretrainingConfig, text: TextSize | None, *, has_held_out: bool) -> None:
    """Warn of a text that is read so often that the model learns it by heart, and of a run that is mostly warm-up."""
    num_steps = config.num_steps
    if text is not None and num_steps > MOST_PASSES * text.steps_per_pass(config):
        read = f"{num_steps:,} steps read the {text.num_tokens:,} tokens of text {text.times(config)}"
        if not has_held_out:
            warn_caller(
                f"{read}, and without held-out text (--held-out FILE, or held_out=[FILE]) nothing shows when the model "
                "learns them by heart"
            )
        elif not config.dropout_rate:
            warn_caller(f"{read}, and a model learns them by heart without dropout; dropout_rate=0.2 puts it off")
    if config.warmup_steps > MOST_WARM_UP * num_steps:
        warn_caller(
            f"{config.warmup_steps:,} of the {num_steps:,} steps would be warm-up; a tenth is usual: "
            f"warmup_steps={num_steps // 10}"
        )
