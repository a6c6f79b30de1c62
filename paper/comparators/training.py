"""What the trainings of comparators share: checks of settings, epochs of batches, and the folder of a trained model."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from elmokit.files.json import as_type, picked
from elmokit.runs.folder import CONFIG_NAME, checked_config, read_config, write_config
from elmokit.runs.settings import check_bounds
from elmokit.runs.tensor_files import DivergenceError
from elmokit.system.batches import batched
from elmokit.system.messages import FormatError
from elmokit.system.progress_bar import progress_bar
from elmokit.text.vocabulary import SPECIALS

FORMAT, VERSION = "elmokit-comparator", 1
CLIP_NORM = 5.0
"""Largest norm of the gradient; ours."""
MAY_BE_ZERO = ("num_tokens", "seed")
Batch = TypeVar("Batch")
Settings = TypeVar("Settings")


def check_config(config: Any) -> None:
    """Check the settings of a training. Raises ValueError."""
    values = dataclasses.asdict(config)
    sizes = [name for name, value in values.items() if isinstance(value, int) and name not in MAY_BE_ZERO]
    counts, rates = ([name for name in names if name in values] for names in (MAY_BE_ZERO, ("dropout_rate",)))
    check_bounds(config, positive=sizes, counts=counts, rates=rates)
    if not config.learning_rate > 0:
        raise ValueError(f"learning_rate is {config.learning_rate}; it must be positive")
    if config.seed >= 1 << 63:
        raise ValueError(f"seed is {config.seed}; expected 0 to 2 ** 63 - 1")


def train_epochs(
    module: nn.Module,
    config: Any,
    batches: Callable[[random.Random], Iterable[Batch]],
    loss_of: Callable[[Batch], tuple[Tensor, int]],
    *,
    clip_norm: float = CLIP_NORM,
) -> list[float]:
    """Train a module with Adam; returns each epoch's mean loss. Random draws do not depend on earlier epochs.

    batches: draws the order of an epoch and gives its batches.
    loss_of: the mean loss of a batch, and the number of tokens that it averages.
    Raises DivergenceError if a loss is not finite.
    """
    optimizer, losses = torch.optim.Adam(module.parameters(), config.learning_rate), list[float]()
    for epoch in range(config.epochs):
        torch.default_generator.manual_seed(random.Random(f"{config.seed}/{epoch}/dropout").getrandbits(63))
        module.train()
        total, num_tokens = 0.0, 0
        with progress_bar(unit="batch", label=f"epoch {epoch}") as bar:
            for batch in batches(random.Random(f"{config.seed}/{epoch}")):
                loss, count = loss_of(batch)
                if not torch.isfinite(loss):
                    raise DivergenceError(f"the loss became {loss.item()} in epoch {epoch}; lower learning_rate")
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(module.parameters(), clip_norm)
                optimizer.step()
                total += count * loss.item()
                num_tokens += count
                bar.update()
        losses.append(total / num_tokens)
    return losses


def of_equal_length(sentences: Sequence[Sequence[str]], *, most: int) -> list[list[int]]:
    """Group the numbers of sentences of equal length, at most `most` per group, so that no batch needs padding.

    Sentences without tokens are in no group.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        if sentence:
            groups[len(sentence)].append(number)
    return [batch for _, numbers in sorted(groups.items()) for batch in batched(numbers, size=most)]


def shuffled_groups(sentences: Sequence[Sequence[str]], draws: random.Random, *, most: int) -> list[list[int]]:
    """Groups of sentence numbers of one length, at most `most` per group, in a random order."""
    order = list(range(len(sentences)))
    draws.shuffle(order)
    groups = of_equal_length([sentences[number] for number in order], most=most)
    draws.shuffle(groups)
    return [[order[index] for index in group] for group in groups]


def frequent_words(counts: Counter[str], config: Any) -> list[str]:
    """The `max_size` most frequent words that occur `min_count` times, by falling count. Raises ValueError for none."""
    enough = [word for word, count in counts.items() if count >= config.min_count and word not in SPECIALS]
    if not enough:
        raise ValueError(f"no word to be predicted occurs at least {config.min_count} times (min_count)")
    return sorted(enough, key=lambda word: (-counts[word], word))[: config.max_size]


def write_training(folder: Path, system: str, config: Any, *, files: Sequence[Path], losses: Sequence[float]) -> None:
    """Write config.json: the system, its settings, the files that it was trained on, and the loss of each epoch."""
    values = {"system": system, "settings": dataclasses.asdict(config), "files": list(map(str, files))}
    write_config(folder, {**values, "losses": losses}, format=FORMAT, version=VERSION)


def read_settings(folder: Path, system: str, kind: type[Settings]) -> Settings:
    """The settings of a trained system that `kind` has. Raises FileNotFoundError, and ValueError for other folders."""
    path, config = folder / CONFIG_NAME, read_config(folder)
    values = checked_config(config, where=path, format=FORMAT, version=VERSION, command="train-comparator")
    if values.get("system") != system:
        raise FormatError(path, f"is of {values.get('system')!r}; expected {system}")
    settings = as_type(values.get("settings"), dict[str, Any], where=path, part="settings")
    return picked(settings, kind, where=path, part="settings")
