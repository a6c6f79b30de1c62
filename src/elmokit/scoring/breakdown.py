"""Where a model's loss goes: by file, by direction, by the predicted word's frequency, and the words that cost most."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.corpus.stream import SentenceStream
from elmokit.scoring.perplexity import (
    Perplexity,
    TextLosses,
    TokenLosses,
    exp_of_loss,
    read_for_measuring,
    text_losses,
    union,
)
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.markdown import aligned_table
from elmokit.text.vocabulary import UNKNOWN, Vocabulary

if TYPE_CHECKING:
    from jaxtyping import Int

LAST_RANKS = (100, 1_000, 10_000, 100_000)  # of the bands; the last band has the rest
BOUNDARY = f"{BEGIN_SENTENCE} {END_SENTENCE}"
WHOLE = "all"


@dataclass(frozen=True)
class Cost:
    """What some targets cost in one direction; losses in nats."""

    name: str
    """A band, or a word."""
    num_predictions: int
    share: float
    """Of the direction's predictions."""
    mean_loss: float | None
    """None when it was never predicted."""
    perplexity: float | None
    total_loss: float
    loss_share: float
    """Of the direction's loss: by how much the perplexity's logarithm would fall if these were always certain."""


@dataclass(frozen=True)
class Breakdown:
    """One direction's loss. The bands together are all of it."""

    bands: tuple[Cost, ...]
    """By rank in the vocabulary, specials not counted; then the sentence boundary, then UNK."""
    worst_words: tuple[Cost, ...]
    """By falling total loss; `<S>`, `</S>` and `<UNK>` may be among them."""


@dataclass(frozen=True)
class MeasuredText:
    """A file, or all of them."""

    name: str
    perplexity: Perplexity
    forward: Breakdown
    backward: Breakdown | None
    """None of a forward model."""

    def breakdowns(self) -> list[tuple[str, Breakdown]]:
        """With the names of their directions."""
        return [("forward", self.forward)] + ([] if self.backward is None else [("backward", self.backward)])


@dataclass(frozen=True)
class PerplexityTable:
    """Every file by itself, and their union: mean losses weighted by predictions."""

    files: tuple[MeasuredText, ...]
    whole: MeasuredText

    def to_json(self) -> str:
        """All there is, the bands and worst words of every file too; null where there is no finite number."""
        record = {"format": "elmokit perplexity", "version": 1, **asdict(self)}
        finite: object = json.loads(json.dumps(record), parse_constant=lambda _: None)
        return json.dumps(finite, indent=2, ensure_ascii=False) + "\n"

    def text(self, *, bands: bool = False) -> str:
        """For people; `bands` adds those of the whole, as its worst words are added if they were asked for."""
        parts = [self.whole.perplexity.text() if len(self.files) == 1 else self._text_of_files()]
        if bands:
            parts += [f"{name}, by rank in the vocabulary\n{_bands(side)}" for name, side in self.whole.breakdowns()]
        for name, side in self.whole.breakdowns():
            if side.worst_words:
                parts.append(f"{name}, the words that cost most\n{_words(side)}")
        if len(parts) > 1:
            parts.append(
                "Losses are in nats; perplexity is exp of the mean loss. The share of the loss says by how much\n"
                "the logarithm of the perplexity would fall if these words were always certain."
            )
        return "\n\n".join(parts)

    def _text_of_files(self) -> str:
        directions = [name for name, _ in self.whole.breakdowns()]
        rows = [["", "predictions", "UNK", *(title for name in directions for title in (name, "without UNK"))]]
        for one in (*self.files, self.whole):
            measured = one.perplexity
            sides = [side for side in (measured.forward, measured.backward) if side is not None]
            numbers = [number for side in sides for number in (side.perplexity, side.perplexity_without_unknown)]
            rows.append(
                [
                    one.name,
                    f"{measured.num_predictions:,}",
                    f"{measured.unknown_rate:.2%}",
                    *(f"{number:.2f}" for number in numbers),
                ]
            )
        return f"{aligned_table(rows)}\n{self.whole.perplexity.counts_text()}"


def measure_files(
    model: str,
    files: Sequence[Path],
    *,
    num_words: int | None = None,
    min_count: int = 1,
    carry_state: bool = False,
    weights: str | None = None,
) -> PerplexityTable:
    """Perplexities of a stored model on every file and on all of them, as `measure` has them; each is run once.

    num_words: the worst words to name; none if None. min_count: a word predicted fewer times is not among them.
    With carried state every file is a stream of its own.

    Raises ValueError for no file, one without sentences, counts below 1, and a model that cannot be measured.
    """
    if not files:
        raise ValueError("no files were given; expected at least one text file of one sentence a line")
    for what, count in (("number of worst words", num_words), ("minimum count of the worst words", min_count)):
        if count is not None and count < 1:
            raise ValueError(f"the {what} is {count}; expected at least 1")
    for path in files:
        next(SentenceStream([path], shuffle=False, num_epochs=1))  # refuses an empty file before hours are spent
    bilm, softmax, vocabulary = read_for_measuring(model, weights=weights)
    parts = [text_losses(bilm, softmax, vocabulary, [path], carry_state=carry_state) for path in files]
    names = [path.name for path in files]
    if len(set(names)) < len(names):
        names = [str(path) for path in files]
    bands = frequency_bands(vocabulary)

    def measured(name: str, losses: TextLosses) -> MeasuredText:
        sides = [
            Breakdown(
                bands=tuple(_cost(side, ids, name=band) for band, ids in bands.items()),
                worst_words=tuple(
                    _cost(side, token_id, name=vocabulary.tokens[token_id])
                    for token_id in _worst(side, num_words or 0, min_count=min_count)
                ),
            )
            for side in losses.directions
        ]
        return MeasuredText(name, losses.perplexity(), forward=sides[0], backward=sides[1] if len(sides) > 1 else None)

    return PerplexityTable(files=tuple(map(measured, names, parts)), whole=measured(WHOLE, union(parts)))


def frequency_bands(vocabulary: Vocabulary) -> dict[str, Int[np.ndarray, " N"]]:
    """Token ids by rank among the tokens that are no specials; the sentence boundary and UNK by themselves.

    A band that no token of the vocabulary belongs to is left out.
    """
    boundary = np.array([vocabulary.begin_id, vocabulary.end_id])
    unknown = np.array([vocabulary.unknown_id])
    words = np.delete(np.arange(len(vocabulary)), [*boundary, *unknown])
    edges = [0, *LAST_RANKS]
    bands = {f"{first + 1:,} to {last:,}": words[first:last] for first, last in zip(edges, LAST_RANKS, strict=False)}
    bands |= {f"above {LAST_RANKS[-1]:,}": words[LAST_RANKS[-1] :], BOUNDARY: boundary, UNKNOWN: unknown}
    return {name: ids for name, ids in bands.items() if len(ids)}


def _worst(direction: TokenLosses, num_words: int, *, min_count: int) -> list[int]:
    falling = np.argsort(-direction.losses, kind="stable")
    return falling[direction.counts[falling] >= min_count][:num_words].tolist()


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


def _bands(side: Breakdown) -> str:
    rows = [["", "predictions", "share", "mean loss", "perplexity", "share of loss"]]
    for band in side.bands:
        rows.append(
            [
                band.name,
                f"{band.num_predictions:,}",
                f"{band.share:.1%}",
                "-" if band.mean_loss is None else f"{band.mean_loss:.3f}",
                "-" if band.perplexity is None else f"{band.perplexity:,.2f}",
                f"{band.loss_share:.1%}",
            ]
        )
    return aligned_table(rows)


def _words(side: Breakdown) -> str:
    """The word stands last, since characters are not all of one width."""
    rows = [["", "predictions", "mean loss", "total loss", "share of loss"]]
    for number, word in enumerate(side.worst_words, start=1):
        rows.append(
            [
                str(number),
                f"{word.num_predictions:,}",
                f"{word.mean_loss:.3f}",
                f"{word.total_loss:,.1f}",
                f"{word.loss_share:.2%}",
            ]
        )
    names = ["word", *(word.name for word in side.worst_words)]
    return "\n".join(f"{line}  {name}" for line, name in zip(aligned_table(rows).splitlines(), names, strict=True))
