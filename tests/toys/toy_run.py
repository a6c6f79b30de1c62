"""A tiny run of pretraining on four sentences, for the tests of what runs do."""

from pathlib import Path
from typing import Any

from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.train import pretrain
from elmokit.text.vocabulary import Vocabulary

SENTENCES = """the boat lay by the bank of the river
she put the money in the bank
they play a game of ball in the park
the actors play the king and the queen
"""


def write_text(folder: Path, text: str = SENTENCES) -> tuple[Path, Path]:
    """Write a shard of these sentences, and its vocabulary."""
    shard, vocabulary = folder / "shard.txt", folder / "vocabulary.txt"
    shard.write_text(text)
    Vocabulary(["<S>", "</S>", "<UNK>", *dict.fromkeys(text.split())]).write(vocabulary)
    return shard, vocabulary


def toy_config(*settings: str) -> PretrainingConfig:
    """Twelve steps of the recipe `tiny`, made smaller, and changed by the settings."""
    small = ("num_steps=12", "checkpoint_every=5", "log_every=2", "precision=float32", "lstm_dim=40")
    return recipe("tiny", [*small, *settings])


def pretrain_toy(run_dir: Path, *settings: str, text: str = SENTENCES, **given: Any) -> Path:
    """Write the text next to the run, and train on it; returns the run."""
    shard, vocabulary = write_text(run_dir.parent, text)
    return pretrain([shard], vocabulary_path=vocabulary, run_dir=run_dir, config=toy_config(*settings), **given)
