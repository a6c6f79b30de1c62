"""What ELMo brings to the articles of SQuAD that share most with the text of the biLM, beside all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.reproduce.item_records import interval_of
from elmokit.reproduce.reproduction import OurTable, distinct_rows
from elmokit.reproduce.results import read_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "squad-articles"


def squad_articles(paths: Sequence[Path]) -> OurTable:
    """A row for each group of articles that was measured."""
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    for fields in read_results(paths, NAME):
        none, elmo = (f"{fields.number(arm):.2f}" for arm in ("baseline", "elmo"))
        share = f"{fields.number('percent_read'):.2f} %"
        cells = (f"{fields.integer('questions'):,}", share, none, elmo, str(interval_of(fields)))
        rows.append((f"{fields.integer('articles')} articles", cells))
    about = (
        "The runs of question answering on the test set, F1: the articles whose passages share most with the text that "
        "mini-en has read, and all others. Shared: of eight successive words, how many are in that text too, mean over "
        "the articles. With the 95 % interval of the gain over test items. "
        "Measured by experiments/2026-11-22-reproduce/articles.py, with the folder of the data and that of the runs."
    )
    columns = ("questions", "shared", "no ELMo", "+ ELMo", "gain")
    return OurTable("SQuAD's articles that the biLM's text touches", about, columns, distinct_rows(rows))
