"""What ELMo brings to the articles of SQuAD that share most with the text of the biLM, beside all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paper.item_records import interval_of
from paper.reproduction import OurTable
from paper.results import read_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAME = "squad-articles"


def squad_articles(paths: Sequence[Path]) -> OurTable:
    """A row for each group of articles, of its newest record; raises ValueError for a record that lacks a number."""
    rows: dict[str, tuple[str | None, ...]] = {}
    for fields in read_results(paths, NAME):
        none, elmo = (f"{fields.number(arm):.2f}" for arm in ("baseline", "elmo"))
        share = f"{fields.number('percent_read'):.2f} %"
        cells = (f"{fields.integer('questions'):,}", share, none, elmo, str(interval_of(fields)))
        rows[f"{fields.integer('articles')} articles, {fields.text('model')}"] = cells
    about = (
        "F1 on the test set, apart for the few articles whose passages share most with the text that the biLM has "
        "read, and for all others. Shared: of the runs of eight words, how many are in that text too, mean over the "
        "articles. The gain has its 95 % interval over test items. "
        "Measured by experiments/2026-11-22-reproduce/articles.py, with the folder of the data and that of the runs."
    )
    columns = ("questions", "shared", "no ELMo", "+ ELMo", "gain")
    return OurTable("SQuAD's articles that the biLM's text touches", about, columns, rows)
