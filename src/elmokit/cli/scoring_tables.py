"""Perplexities, their breakdown and judgements of minimal pairs as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from elmokit.system.markdown import aligned_table

if TYPE_CHECKING:
    from elmokit.metrics.score import Accuracy
    from elmokit.scoring.breakdown import Breakdown, PerplexityTable
    from elmokit.scoring.perplexity import Perplexity


def perplexity_text(table: PerplexityTable, *, bands: bool = False) -> str:
    """Perplexities, then the bands of the whole if requested, and its worst words if there are any."""
    whole = table.whole
    parts = [_of_files(table)]
    if bands:
        parts += [f"{name}, by rank in the vocabulary\n{_bands(side)}" for name, side in whole.breakdowns()]
    for name, side in whole.breakdowns():
        if side.worst_words:
            parts.append(f"{name}, costliest words\n{_words(side)}")
    if len(parts) > 1:
        parts.append(
            "Losses are in nats; perplexity is exp of the mean loss. The share of loss is how much the log\n"
            "of the perplexity would fall if these words were predicted with certainty."
        )
    return "\n\n".join(parts)


def accuracy_text(found: Mapping[str, Accuracy]) -> str:
    """How many minimal pairs each direction judges right."""
    rows = [["", "right", "pairs", "%"]]
    rows += [[name, f"{one.correct:,}", f"{one.total:,}", f"{one.percent:.2f}"] for name, one in found.items()]
    return aligned_table(rows)


def _of_files(table: PerplexityTable) -> str:
    directions = [name for name, _ in table.whole.breakdowns()]
    titles = [title for name in directions for title in (name, "without UNK")] + ["mean"] * (len(directions) - 1)
    rows = [["", "predictions", "UNK", *titles]]
    for text in (*table.files, *([table.whole] if len(table.files) > 1 else [])):
        measured = text.perplexity
        sides = [side for side in (measured.forward, measured.backward) if side is not None]
        numbers = [number for side in sides for number in (side.perplexity, side.perplexity_without_unknown)]
        numbers += [measured.mean] * (len(sides) - 1)
        counts = [text.name, f"{measured.num_predictions:,}", f"{measured.unknown_rate:.2%}"]
        rows.append([*counts, *(f"{number:.2f}" for number in numbers)])
    return f"{aligned_table(rows)}\n{_counts(table.whole.perplexity)}"


def _counts(measured: Perplexity) -> str:
    sentences = "" if measured.num_sentences is None else f"{measured.num_sentences:,} sentences, "
    carried = f"state carried, {measured.num_left_out:,} predictions at the end of the text left out"
    return (
        f"{sentences}{measured.num_predictions:,} predictions per direction, {measured.num_unknown:,} of UNK "
        f"({measured.unknown_rate:.2%}), vocabulary {measured.num_tokens_in_vocabulary:,}, "
        f"{carried if measured.carried_state else 'each sentence by itself'}"
    )


def _bands(side: Breakdown) -> str:
    rows = [["", "predictions", "share", "mean loss", "perplexity", "share of loss"]]
    for band in side.bands:
        counts = [band.name, f"{band.num_predictions:,}", f"{band.share:.1%}"]
        loss = "-" if band.mean_loss is None else f"{band.mean_loss:.3f}"
        perplexity = "-" if band.perplexity is None else f"{band.perplexity:,.2f}"
        rows.append([*counts, loss, perplexity, f"{band.loss_share:.1%}"])
    return aligned_table(rows)


def _words(side: Breakdown) -> str:
    """A table of the worst words. The word comes last, since it may be long."""
    rows = [["", "predictions", "mean loss", "total loss", "share of loss"]]
    for number, word in enumerate(side.worst_words, start=1):
        losses = [f"{word.mean_loss:.3f}", f"{word.total_loss:,.1f}", f"{word.loss_share:.2%}"]
        rows.append([str(number), f"{word.num_predictions:,}", *losses])
    names = ["word", *(word.name for word in side.worst_words)]
    return "\n".join(f"{line}  {name}" for line, name in zip(aligned_table(rows).splitlines(), names, strict=True))
