"""How much a layer knows of parts of speech: softmax regression on frozen vectors (Peters et al., 2018, Table 6).

Sentences have a tag for each token, in a column file (WORD TAB TAG) or in CoNLL-U (universaldependencies.org).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.files.lines import read_lines
from elmokit.model.vector_source import VectorSource
from elmokit.tasks.named_entities.reader import TaggedSentence
from elmokit.text.corpora.cells import plain_token
from elmokit.text.corpora.columns import column_sentences
from paper.data import not_empty
from paper.probes.targets import Target, mixes, target_vectors

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int

FORM, UPOS, XPOS = 1, 3, 4
"""Columns of CoNLL-U, from 0."""
BATCH_SIZE = 512
NUM_EPOCHS = 8
LEARNING_RATE = 3e-3
"""Ours: the accuracy on development data of the sample of the Penn Treebank no longer grows with more epochs."""
SEED = 0


@dataclass(frozen=True)
class ProbeScore:
    """Accuracy in percent on development and test data, and for each test token whether it is right."""

    dev: float
    test: float
    hits: tuple[bool, ...]


def probe_tags(layers: VectorSource, parts: Sequence[Sequence[TaggedSentence]]) -> dict[str, ProbeScore]:
    """Train a linear classifier on each layer and mix (`targets.mixes`), and score it.

    parts: training, development and test data. The weights are those of the epoch with the best development accuracy.
    A tag that is not in the training data is an error.
    """
    tags = {tag: number for number, tag in enumerate(sorted({tag for each in parts[0] for tag in each.tags}))}
    gold = [torch.tensor([tags.get(tag, -1) for each in part for tag in each.tags]) for part in parts]
    vectors = [_token_vectors(layers, part) for part in parts]
    return {
        row: _probe([mix(of_part) for of_part in vectors], gold, num_tags=len(tags))
        for row, mix in mixes(layers.num_layers).items()
    }


def _token_vectors(layers: VectorSource, part: Sequence[TaggedSentence]) -> Float32[np.ndarray, "L N E"]:
    places = ((number, at) for number, each in enumerate(part) for at in range(len(each.tokens)))
    targets = [Target(number, at, at + 1) for number, at in places]
    return target_vectors(layers, [each.tokens for each in part], targets)


def _probe(
    vectors: Sequence[Float32[np.ndarray, "_ E"]], gold: Sequence[Int[Tensor, " _"]], *, num_tags: int
) -> ProbeScore:
    mean, deviation = vectors[0].mean(axis=0), vectors[0].std(axis=0)
    train, dev, test = (torch.from_numpy((part - mean) / np.where(deviation > 0, deviation, 1)) for part in vectors)
    randomness = torch.Generator().manual_seed(SEED)
    classifier = nn.Linear(train.shape[1], num_tags)
    nn.init.zeros_(classifier.weight)
    nn.init.zeros_(classifier.bias)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=NUM_EPOCHS)
    best = ProbeScore(-1.0, 0.0, ())
    for _ in range(NUM_EPOCHS):
        order = torch.randperm(len(train), generator=randomness)
        for chosen in cast("tuple[Tensor, ...]", order.split(BATCH_SIZE)):
            optimizer.zero_grad()
            nn.functional.cross_entropy(classifier(train[chosen]), gold[0][chosen]).backward()
            optimizer.step()
        schedule.step()
        dev_score = 100 * _hits(classifier, dev, gold[1]).float().mean().item()
        if dev_score > best.dev:
            hits = _hits(classifier, test, gold[2])
            best = ProbeScore(dev_score, 100 * hits.float().mean().item(), tuple(cast("list[bool]", hits.tolist())))
    return best


@torch.no_grad()
def _hits(classifier: nn.Linear, vectors: Float[Tensor, "N E"], gold: Int[Tensor, " N"]) -> Tensor:
    return classifier(vectors).argmax(dim=1) == gold


def read_tagged(path: Path, *, columns: tuple[int, int]) -> list[TaggedSentence]:
    """Sentences of a file, out of the columns of token and tag. Tokens get plain brackets and quotes (`plain_token`).

    Of CoNLL-U (`FORM`, and `UPOS` or `XPOS`), ranges and empty nodes are not words.
    """
    token, tag = columns
    sentences: list[TaggedSentence] = []
    for each in column_sentences(read_lines(path), name=str(path)):
        if rows := [row for row in each.rows if token != FORM or row[0].isdigit()]:
            sentences.append(TaggedSentence([plain_token(row[token]) for row in rows], [row[tag] for row in rows]))
    return not_empty(path, sentences)
