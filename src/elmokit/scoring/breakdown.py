"""Breaks a model's loss down by file, direction and frequency of the predicted word, and finds the costliest words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.corpus.manifest import held_out_file
from elmokit.corpus.stream import check_has_text
from elmokit.elmo.elmo import Elmo
from elmokit.scoring.perplexity import (
    Perplexity,
    TextLosses,
    TokenLosses,
    each_text_once,
    exp_of_loss,
    join_texts,
    text_losses,
)
from elmokit.system.progress_bar import progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    import torch
    from jaxtyping import Int

LAST_RANKS = (100, 1_000, 10_000, 100_000)  # last rank of each frequency band; one more band has the rest


@dataclass(frozen=True)
class Cost:
    """Loss of a group of targets in one direction, in nats."""

    name: str
    """Name of a frequency band, or a word."""
    num_predictions: int
    share: float
    """Share, from 0 to 1, of the direction's predictions."""
    mean_loss: float | None
    """Mean loss; None without predictions."""
    perplexity: float | None
    """`exp(mean_loss)`; None without predictions."""
    total_loss: float
    loss_share: float
    """Share of the direction's loss. If these targets were certain, the log of the perplexity would fall by that."""


@dataclass(frozen=True)
class Breakdown:
    """Loss of one direction. The bands add up to the whole loss."""

    bands: tuple[Cost, ...]
    """Bands by rank in the vocabulary (without the specials), then the sentence boundary, then UNK."""
    worst_words: tuple[Cost, ...]
    """Words by descending total loss. `<S>`, `</S>` and `<UNK>` may be among them."""


@dataclass(frozen=True)
class MeasuredText:
    """Perplexity and breakdowns of one file, or of all files together."""

    name: str
    perplexity: Perplexity
    forward: Breakdown
    backward: Breakdown | None
    """None for a model without a backward direction."""

    def breakdowns(self) -> list[tuple[str, Breakdown]]:
        """The breakdowns with the names of their directions."""
        return [("forward", self.forward)] + ([] if self.backward is None else [("backward", self.backward)])


@dataclass(frozen=True)
class PerplexityTable:
    """Perplexities of each file, and of all files together (their mean losses weighted by predictions)."""

    files: tuple[MeasuredText, ...]
    whole: MeasuredText
    ids_are_ranks: bool = True
    """Whether the vocabulary seems to be sorted by descending frequency in this text. If not, bands mean nothing."""

    def to_json(self) -> str:
        """Everything as JSON, including bands and worst words of every file. Numbers that are not finite are null."""
        record = {"format": "elmokit perplexity", "version": 1, **asdict(self)}
        finite: object = json.loads(json.dumps(record), parse_constant=lambda _: None)
        return json.dumps(finite, indent=2, ensure_ascii=False) + "\n"


def measure_files(
    model: str,
    files: Sequence[Path],
    *,
    num_words: int | None = None,
    raw_text: bool = False,
    column: str | None = None,
    as_text: bool = False,
    carry_state: bool = False,
    weights: str | None = None,
    device: str | torch.device | None = None,
) -> PerplexityTable:
    """Perplexities of a stored model on each file and on all files together, as `perplexity` computes them.

    files: texts with one sentence per line, or folders from `prepare` (their held-out text is read).
    num_words: number of worst words to list; None lists none.
    raw_text, column, as_text, carry_state, weights, device: as in `perplexity`, with a separate stream for each file.

    The model runs once over each file. Raises ValueError if no files are given, a file has no sentence, a count is
    below 1, the model has no softmax or no vocabulary, or the device is missing.
    """
    if not files:
        raise ValueError("no files were given; expected at least one text file with one sentence per line")
    files = list(map(held_out_file, files))
    if num_words is not None and num_words < 1:
        raise ValueError(f"the number of worst words is {num_words}; expected at least 1")
    form: dict[str, Any] = {"raw_text": raw_text, "column": column, "as_text": as_text}
    check_has_text(*files, **form)
    scored = Elmo.from_pretrained(model, weights, device=device).surprisal_model()
    vocabulary = scored.vocabulary
    names = [path.name for path in files]
    if len(set(names)) < len(names):
        names = [str(path) for path in files]
    bands = frequency_bands(vocabulary)

    def measured(name: str, losses: TextLosses) -> MeasuredText:
        sides = [
            Breakdown(
                bands=tuple(_cost(side, ids, name=band) for band, ids in bands.items()),
                worst_words=tuple(
                    _cost(side, token_id, name=vocabulary.tokens[token_id]) for token_id in _worst(side, num_words or 0)
                ),
            )
            for side in losses.directions
        ]
        return MeasuredText(name, losses.perplexity(), forward=sides[0], backward=sides[1] if len(sides) > 1 else None)

    texts: list[MeasuredText] = []
    whole: TextLosses | None = None
    with progress_bar(unit=" predictions", scale=True, keep=False) as bar:
        for name, path in zip(names, files, strict=True):
            sentences = each_text_once([path], **form, is_shard=False)
            losses = text_losses(scored, sentences, carry_state=carry_state, when_done=bar.update)
            texts.append(measured(name, losses))
            whole = losses if whole is None else join_texts(whole, losses)
    assert whole is not None  # there is a file
    return PerplexityTable(
        files=tuple(texts),
        whole=measured("all", whole),
        ids_are_ranks=not vocabulary.is_out_of_order(whole.directions[0].counts),
    )


def frequency_bands(vocabulary: Vocabulary) -> dict[str, Int[np.ndarray, " N"]]:
    """Token ids of each band that is not empty: by rank without the specials, then the sentence boundary and UNK."""
    boundary = np.array([vocabulary.begin_id, vocabulary.end_id])
    unknown = np.array([vocabulary.unknown_id])
    words = np.delete(np.arange(len(vocabulary)), [*boundary, *unknown])
    edges = [0, *LAST_RANKS]
    bands = {f"{first + 1:,} to {last:,}": words[first:last] for first, last in zip(edges, LAST_RANKS, strict=False)}
    bands[f"above {LAST_RANKS[-1]:,}"] = words[LAST_RANKS[-1] :]
    bands |= {f"{BEGIN_SENTENCE} {END_SENTENCE}": boundary, UNKNOWN: unknown}
    return {name: ids for name, ids in bands.items() if len(ids)}


def _worst(direction: TokenLosses, num_words: int) -> list[int]:
    falling = np.argsort(-direction.losses, kind="stable")
    return falling[direction.counts[falling] > 0][:num_words].tolist()


def _cost(direction: TokenLosses, ids: Int[np.ndarray, " N"] | int, *, name: str) -> Cost:
    count, total = int(direction.counts[ids].sum()), float(direction.losses[ids].sum())
    mean = total / count if count else None
    loss_of_all = float(direction.losses.sum())
    return Cost(
        name=name,
        num_predictions=count,
        share=count / int(direction.counts.sum()),
        mean_loss=mean,
        perplexity=None if mean is None else exp_of_loss(mean),
        total_loss=total,
        loss_share=total / loss_of_all if loss_of_all else 0.0,
    )
