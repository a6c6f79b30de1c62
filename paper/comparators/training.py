"""What the trainings of comparators share: checks of settings, epochs of batches, and a run folder."""

from __future__ import annotations

import dataclasses
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from elmokit.files.json import as_type, picked
from elmokit.runs.folder import (
    CONFIG_NAME,
    METRICS_NAME,
    checked_config,
    new_run,
    read_config,
    start_writing,
    write_config,
)
from elmokit.runs.log import append_json_line
from elmokit.runs.tensor_files import DivergenceError
from elmokit.system.batches import batched
from elmokit.system.messages import FormatError
from elmokit.system.progress_bar import progress_bar
from elmokit.tasks.config import check_bounds
from elmokit.text.vocabulary import SPECIALS

FORMAT = "elmokit-comparator"
VERSION = 1
Batch = TypeVar("Batch")
Settings = TypeVar("Settings")


def check_config(
    config: Any, *, positive: Sequence[str], counts: Sequence[str] = (), rates: Sequence[str] = ()
) -> None:
    """Check a config by `check_bounds`, and what all have: learning rate, norm and seed. Raises ValueError."""
    check_bounds(config, positive=positive, counts=counts, rates=rates)
    for name in ("learning_rate", "clip_norm"):
        if not getattr(config, name) > 0:
            raise ValueError(f"{name} is {getattr(config, name)}; it must be positive")
    if not 0 <= config.seed < 1 << 63:
        raise ValueError(f"seed is {config.seed}; expected 0 to 2 ** 63 - 1")


def train_epochs(
    module: nn.Module,
    config: Any,
    batches: Callable[[random.Random], Iterable[Batch]],
    loss_of: Callable[[Batch], tuple[Tensor, int]],
    log: Callable[..., None] | None = None,
) -> float:
    """Train a module with Adam, in epochs whose draws depend on no other one; returns the mean loss of the last.

    batches: those of an epoch, in an order that is drawn.
    loss_of: the mean loss of a batch, and of how many tokens it is the mean.
    log: called with `epoch` and `loss` after each epoch.
    Raises DivergenceError if a loss is not finite.
    """
    optimizer, mean_loss = torch.optim.Adam(module.parameters(), config.learning_rate), 0.0
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
                nn.utils.clip_grad_norm_(module.parameters(), config.clip_norm)
                optimizer.step()
                total += count * loss.item()
                num_tokens += count
                bar.update()
        mean_loss = total / num_tokens
        if log is not None:
            log(epoch=epoch, loss=mean_loss)
    return mean_loss


def of_equal_length(sentences: Sequence[Sequence[str]], *, most: int) -> list[list[int]]:
    """Numbers of the sentences in groups of equal length, of at most `most` each, so that no batch needs padding.

    Sentences without tokens are in no group.
    """
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number, sentence in enumerate(sentences):
        if sentence:
            groups[len(sentence)].append(number)
    return [batch for _, numbers in sorted(groups.items()) for batch in batched(numbers, size=most)]


def shuffled_groups(sentences: Sequence[Sequence[str]], draws: random.Random, *, most: int) -> list[list[int]]:
    """Numbers of sentences of one length, at most so many together, in a random order."""
    order = list(range(len(sentences)))
    draws.shuffle(order)
    groups = of_equal_length([sentences[number] for number in order], most=most)
    draws.shuffle(groups)
    return [[order[index] for index in group] for group in groups]


def frequent_words(counts: Counter[str], config: Any) -> list[str]:
    """The words that occur `min_count` times, by falling count and at most `max_size`. Raises ValueError for none."""
    enough = [word for word, count in counts.items() if count >= config.min_count and word not in SPECIALS]
    if not enough:
        raise ValueError(f"no word to be predicted occurs at least {config.min_count} times (min_count)")
    return sorted(enough, key=lambda word: (-counts[word], word))[: config.max_size]


@contextmanager
def comparator_run(
    run_dir: Path, system: str, config: Any, *, files: Sequence[Path], written: Sequence[str]
) -> Generator[Callable[..., None]]:
    """Hold the lock of a new run with its config.json; yields what appends numbers to its log.

    config: its settings, a dataclass.
    written: names of the files that the training writes.
    Raises ValueError for a folder that already holds a run, or a file that it would write, and OSError as `new_run`
    does.
    """
    if (run_dir / CONFIG_NAME).exists():
        raise ValueError(f"{run_dir} already holds a run; choose another folder")
    values = {"system": system, "settings": dataclasses.asdict(config), "files": [str(path) for path in files]}
    start = time.monotonic()

    def log(**numbers: float) -> None:
        append_json_line(run_dir / METRICS_NAME, {**numbers, "seconds": round(time.monotonic() - start, 1)})

    with new_run(run_dir, files=(METRICS_NAME, *written)):
        start_writing(run_dir)
        write_config(run_dir, values, format=FORMAT, version=VERSION)
        yield log


def read_comparator_settings(run_dir: Path, system: str, kind: type[Settings]) -> Settings:
    """Those settings of a run of this system that a dataclass has.

    Raises FileNotFoundError, and ValueError for another kind of folder.
    """
    path, config = run_dir / CONFIG_NAME, read_config(run_dir)
    values = checked_config(config, where=path, format=FORMAT, version=VERSION, command="train-comparator")
    if values.get("system") != system:
        raise FormatError(path, f"is of {values.get('system')!r}; expected {system}")
    settings = as_type(values.get("settings"), dict[str, Any], where=path, part="settings")
    return picked(settings, kind, where=path, part="settings")
