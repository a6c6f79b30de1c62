"""Training of context2vec by negative sampling on the shards that a biLM reads (Melamud et al., 2016)."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from elmokit.corpus.stream import SentenceStream
from elmokit.integrations.encoder import of_equal_length
from elmokit.layers.devices import seeded
from elmokit.runs.settings import change_settings
from elmokit.system.batches import batched
from elmokit.system.progress_bar import progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.vocabulary import UNKNOWN, Vocabulary
from paper.comparators.context2vec import MODEL_FILE, SYSTEM, VOCABULARY_FILE, Context2vec, ContextEncoder
from paper.comparators.run_folder import check_config, comparator_run, update

if TYPE_CHECKING:
    from jaxtyping import Float, Int

NOISE_POWER = 0.75
SAVE_SECONDS = 600
SENTENCES_PER_BLOCK = 8192
"""Sentences that are grouped by length together."""


@dataclass(frozen=True)
class Context2vecConfig:
    """Settings of a training; the defaults are the published ones, except for `max_size` and `clip_norm`."""

    word_dim: int = 300
    """Width of the context words' embeddings."""
    lstm_dim: int = 600
    """Width of each LSTM."""
    dim: int = 600
    """Width of the contexts' and of the targets' vectors."""
    min_count: int = 3
    """Occurrences that a word needs; rarer ones are one unknown word."""
    max_size: int = 100_000
    """Largest number of words, the most frequent ones."""
    negatives: int = 10
    """Random words for each real one, drawn from counts to the power of 0.75."""
    batch_size: int = 100
    """Sentences per step, of one length."""
    epochs: int = 10
    """Passes over the shards."""
    num_tokens: int = 0
    """Tokens after which the training ends even within an epoch; 0 for no limit."""
    learning_rate: float = 0.001
    """Adam's."""
    clip_norm: float = 5.0
    """Largest norm of the gradient; the original program has no limit."""
    log_every: int = 100
    """Steps between lines of metrics.jsonl."""
    seed: int = 0
    """Seed of initial weights, order and negatives."""

    def __post_init__(self) -> None:
        counts = ("word_dim", "lstm_dim", "dim", "min_count", "max_size", "negatives", "batch_size", "epochs")
        check_config(self, positive=(*counts, "log_every"))
        if self.num_tokens < 0:
            raise ValueError(f"num_tokens is {self.num_tokens}; it must not be negative")


def train_context2vec(
    files: Sequence[Path], output: Path, settings: Sequence[str] = (), *, resume: bool = False
) -> dict[str, float]:
    """Train a model and write its folder: weights, vocabulary, config.json, metrics.jsonl.

    The weights are written every ten minutes and at the end, and a checkpoint from which an interrupted training
    continues: it ends with the weights of one that was not interrupted.

    settings: fields of `Context2vecConfig` as `field=value`.
    resume: continue the run in `output`, which has the same files and settings.
    Returns the steps, the tokens read and the mean loss (nats per token) since the last line of the log; nothing if
    only the model was left to write. Raises ValueError for wrong settings, shards without a sentence and, to be
    continued, shards whose words have changed; OSError for files that cannot be read or written; and DivergenceError, a
    ValueError.
    """
    config = change_settings({"training": Context2vecConfig()}, settings)["training"]
    vocabulary, counts = _count(files, config)
    opened = comparator_run(
        output, SYSTEM, config, files=files, resume=resume, result=MODEL_FILE, others=(VOCABULARY_FILE,)
    )
    with opened as run, seeded(config.seed):
        vocabulary.write(output / VOCABULARY_FILE)
        encoder = ContextEncoder(vocabulary, word_dim=config.word_dim, lstm_dim=config.lstm_dim, dim=config.dim)
        optimizer = torch.optim.Adam(encoder.parameters(), config.learning_rate)
        first = run.load(encoder, optimizer, "steps")
        run.keep_log(lambda record: record.integer("step") <= first)
        measured: dict[str, float] = {}
        written = time.monotonic()
        noise = np.cumsum(counts**NOISE_POWER)
        training = _Training(Context2vec(encoder, vocabulary), optimizer, torch.from_numpy(noise / noise[-1]), config)
        total = config.num_tokens or config.epochs * int(counts.sum())
        for step, num_tokens, loss in _train(training, files, first=first, total=total):
            measured = {"step": step, "num_tokens": num_tokens, "loss": loss}
            run.log(**measured)
            if time.monotonic() - written > SAVE_SECONDS:
                run.save(encoder, optimizer, {"steps": step}, encoder)
                written = time.monotonic()
        run.finish(encoder)
    return measured


def negative_sampling_loss(
    encoder: ContextEncoder, ids: Int[Tensor, "B T"], negatives: Int[Tensor, "B T S"]
) -> Float[Tensor, ""]:
    """Mean over all tokens of `-log s(t . c) - sum_i log s(-n_i . c)`, t the word, c its context, n the negatives."""
    contexts = encoder(ids)
    real = (encoder.targets(ids) * contexts).sum(dim=2)
    false = torch.einsum("btsd,btd->bts", encoder.targets(negatives), contexts)
    return (functional.softplus(-real) + functional.softplus(false).sum(dim=2)).mean()


def _count(shards: Sequence[Path], config: Context2vecConfig) -> tuple[Vocabulary, Float[np.ndarray, " V"]]:
    """The lower-cased words by falling count, after the specials, and how often each occurs.

    Raises ValueError if no word is frequent enough.
    """
    counts: Counter[str] = Counter()
    for sentence in SentenceStream(shards, shuffle=False, num_epochs=1):
        counts.update(token.lower() for token in sentence)
    total = counts.total()
    specials = (UNKNOWN, BEGIN_SENTENCE, END_SENTENCE)
    enough = [(word, count) for word, count in counts.items() if count >= config.min_count and word not in specials]
    kept = sorted(enough, key=lambda item: (-item[1], item[0]))[: config.max_size]
    if not kept:
        raise ValueError(f"no word occurs at least {config.min_count} times (min_count)")
    rare = total - sum(count for _, count in kept)
    numbers = [rare, 0, 0, *(count for _, count in kept)]
    return Vocabulary([*specials, *(word for word, _ in kept)]), np.array(numbers, np.float64)


@dataclass(frozen=True)
class _Training:
    """What a step needs."""

    model: Context2vec
    optimizer: torch.optim.Optimizer
    noise: Float[Tensor, " V"]
    """Cumulative probabilities of the negatives."""
    config: Context2vecConfig

    def step(self, ids: Int[Tensor, "B T"], number: int) -> float:
        """The loss of the step with this number, whose negatives depend on no other step."""
        generator = torch.Generator().manual_seed(random.Random(f"{self.config.seed}/{number}").getrandbits(63))
        draws = torch.rand(*ids.shape, self.config.negatives, dtype=torch.float64, generator=generator)
        negatives = torch.searchsorted(self.noise, draws).clamp(max=len(self.noise) - 1)
        encoder = self.model.encoder
        loss = negative_sampling_loss(encoder, ids, negatives)
        return update(loss, encoder, self.optimizer, clip_norm=self.config.clip_norm, where=f"step {number}")


def _train(training: _Training, shards: Sequence[Path], *, first: int, total: int) -> Iterator[tuple[int, int, float]]:
    """Yield step, tokens read and the mean loss since the last time, every `log_every` steps and at the end.

    first: number of the steps that were made already, whose text is passed over.
    """
    config = training.config
    losses: list[float] = []
    step = num_tokens = 0
    with progress_bar(unit="token", total=total, scale=True) as bar:
        for ids in _batches(training.model, shards, config):
            if step >= first:
                losses.append(training.step(ids, step))
            step += 1
            num_tokens += ids.numel()
            bar.update(ids.numel())
            if losses and step % config.log_every == 0:
                yield step, num_tokens, float(np.mean(losses))
                losses.clear()
            if config.num_tokens and num_tokens >= config.num_tokens:
                break
    if losses:
        yield step, num_tokens, float(np.mean(losses))


def _batches(model: Context2vec, shards: Sequence[Path], config: Context2vecConfig) -> Iterator[Int[Tensor, "B T"]]:
    """Token ids of sentences of one length, block by block."""
    sentences = SentenceStream(shards, seed=config.seed, num_epochs=config.epochs)
    shuffle = np.random.default_rng(config.seed).permutation
    for block in batched(sentences, size=SENTENCES_PER_BLOCK):
        groups = of_equal_length(block, most=config.batch_size)
        for index in cast("list[int]", shuffle(len(groups)).tolist()):
            yield torch.from_numpy(np.stack([model.ids(block[number]) for number in groups[index]]))
