"""Recipes of pretraining: functions, listed by name, that return a whole config."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from elmokit.model.config import BiLMConfig
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.system.messages import find_named


def original() -> PretrainingConfig:
    """The released 2x4096_512_2048cnn_2xhighway: batch 3 x 128 streams on 3 GPUs, Adagrad 0.2, 10 epochs (bilm-tf)."""
    return PretrainingConfig()


def medium() -> PretrainingConfig:
    """The released 2x2048_256_2048cnn_1xhighway (allennlp.org/elmo)."""
    return replace(original(), bilm=BiLMConfig(num_highway_layers=1, projection_dim=256, lstm_dim=2048))


def small() -> PretrainingConfig:
    """The released 2x1024_128_2048cnn_1xhighway (allennlp.org/elmo)."""
    return replace(original(), bilm=BiLMConfig(num_highway_layers=1, projection_dim=128, lstm_dim=1024))


def mini() -> PretrainingConfig:
    """`small` with 512 filters, the sizes of the bundled `mini-ko`, trained in hours on two cores.

    Source: ours, found by short runs (experiments/LOG.md, 2026-11-20 to 2026-11-26).
    """
    return replace(
        original(),
        bilm=BiLMConfig(
            filters=((1, 32), (2, 32), (3, 64), (4, 128), (5, 256)),
            num_highway_layers=1,
            projection_dim=128,
            lstm_dim=1024,
        ),
        num_steps=20_000,
        batch_size=64,
        reset_state=True,
        num_negatives=4096,
        softmax_scale=0.1,
        zipf_bias=True,
        optimizer="muon",
        muon_for="all",
        learning_rate=6e-3,
        weight_decay=0.1,
        schedule="cosine",
        warmup_steps=100,
        dropout_rate=0.0,
        checkpoint_every=500,
    )


def small_en() -> PretrainingConfig:
    """`mini` with directions twice as wide (256 numbers): 10.1 million parameters without the softmax, for a GPU.

    Source: ours, the settings of the bundled `small-en` (experiments/LOG.md, 2026-11-26).
    """
    return replace(
        mini(),
        bilm=replace(mini().bilm, projection_dim=256),
        num_steps=33_000,
        batch_size=256,
        num_negatives=8192,
        learning_rate=4e-3,
        adam_betas=(0.9, 0.99),
        schedule="linear",
        warmup_steps=200,
        decay_share=0.75,
        dropout_rate=0.05,
    )


def tiny() -> PretrainingConfig:
    """A model for tests and first steps, which learns a few sentences by heart in seconds."""
    return replace(
        mini(),
        bilm=BiLMConfig(
            filters=((1, 8), (2, 8), (3, 16)), character_dim=8, num_highway_layers=1, projection_dim=32, lstm_dim=128
        ),
        num_steps=150,
        batch_size=4,
        bptt_steps=10,
        softmax="full",
        muon_for="lstm",
        learning_rate=2e-2,
        weight_decay=0.0,
        warmup_steps=10,
        checkpoint_every=100,
        log_every=10,
    )


def finetuning(bilm: BiLMConfig) -> PretrainingConfig:
    """Settings to continue a biLM of any size on a domain's text, until held-out perplexity stops improving."""
    return replace(
        mini(),
        bilm=bilm,
        num_steps=2_000,
        muon_for="lstm",
        learning_rate=1e-3,
        weight_decay=0.0,
        dropout_rate=0.1,
        evaluate_every=200,
        patience=3,
        checkpoint_every=200,
    )


RECIPES: dict[str, Callable[[], PretrainingConfig]] = {
    "tiny": tiny,
    "mini": mini,
    "small-en": small_en,
    "small": small,
    "medium": medium,
    "original": original,
}


def recipe(name: str, settings: Sequence[str] = ()) -> PretrainingConfig:
    """The config of a named recipe, changed by `settings` (`field=value`).

    Raises ValueError for an unknown name, listing the known ones, and for unknown fields and wrong values.
    """
    return with_settings(find_named(RECIPES, name, what="recipe")(), settings)
