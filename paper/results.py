"""All results: `results.tsv` with one number per row, and `items.npz` with what single test items contributed."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.runs.results_table import Result, read_results, write_results

if TYPE_CHECKING:
    from jaxtyping import Float, Int

FOLDER = Path(__file__).parent
RESULTS, ITEMS = "results.tsv", "items.npz"


@dataclass(frozen=True)
class ItemCounts:
    """What each test item adds to the sums that a score is computed from, and the cluster that it belongs to."""

    counts: Float[np.ndarray, "N C"]
    clusters: Int[np.ndarray, " N"]
    """Items of one sentence, article or document have the same number."""

    def by_cluster(self) -> Float[np.ndarray, "K C"]:
        """The sums of each cluster."""
        sums = np.zeros((int(self.clusters.max()) + 1, self.counts.shape[1]))
        np.add.at(sums, self.clusters, self.counts)
        return sums


class Results:
    """The numbers of a folder with `results.tsv` and `items.npz`."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self.rows = read_results(folder / RESULTS) if (folder / RESULTS).exists() else []
        self._tables: dict[str, list[Result]] = {}

    def select(self, table: str, **wanted: Any) -> list[Result]:
        """The rows of a table with these values; `recipe` is the setting of that name."""
        if not self._tables:
            for row in self.rows:
                self._tables.setdefault(row.table, []).append(row)
        recipe = wanted.pop("recipe", None)
        names, values = tuple(wanted), tuple(wanted.values())
        found = [row for row in self._tables.get(table, ()) if recipe in (None, row.settings.get("recipe"))]
        return [row for row in found if tuple(getattr(row, name) for name in names) == values]

    def run_items(self, row: Result) -> ItemCounts | None:
        """The items of the run of a row, on the row's test set; None if they are not known."""
        counts = self._array(f"counts/{row.run}@{row.commit}/{row.split}")
        if counts is None:
            return None
        where = (row.table, row.data) if row.table == "latin" else (row.task or row.data, row.split)
        return ItemCounts(counts, self._clusters(*where))

    def probe_items(self, row: Result) -> ItemCounts | None:
        """Whether each test item of a probe is right (1 or 0), with a 1 next to it; None if that is not known."""
        bits = self._array(f"hits/{row.table}/{row.data}/{row.fingerprint or row.model}/{row.layer}")
        if bits is None:
            return None
        clusters = self._clusters(row.table, row.data)
        hits = np.unpackbits(bits, count=len(clusters)).astype(float)
        return ItemCounts(np.stack([hits, np.ones_like(hits)], axis=1), clusters)

    def curve(self, row: Result) -> list[tuple[float, float]]:
        """Updates and development score after each epoch of a run; empty if they are not known."""
        found = self._array(f"curve/{row.run}@{row.commit}")
        return [] if found is None else [(float(step), float(score)) for step, score in found]

    def add(self, rows: Iterable[Result], arrays: dict[str, np.ndarray] | None = None) -> None:
        """Add rows and arrays. Rows replace earlier rows of the same run, or of the same probe of the same vectors."""
        new = list(rows)
        replaced = {_source(row) for row in new}
        self.rows, self._tables = [row for row in self.rows if _source(row) not in replaced] + new, {}
        write_results(self.folder / RESULTS, self.rows)
        if arrays:
            path = self.folder / ITEMS
            kept = dict(np.load(path)) if path.exists() else {}
            unfinished = path.with_suffix(".unfinished.npz")
            together: dict[str, Any] = dict(sorted({**kept, **arrays}.items()))
            np.savez_compressed(unfinished, **together)
            os.replace(unfinished, path)
            _open.cache_clear()

    def _array(self, name: str) -> Any:
        return _open(self.folder / ITEMS).get(name)

    def _clusters(self, task: str, split: str) -> Int[np.ndarray, " N"]:
        return np.cumsum(self._array(f"clusters/{task}/{split}"), dtype=np.int64)


def numbered(names: Iterable[Hashable]) -> list[int]:
    """A number from 0 for each different name, in the order of the first occurrences."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names]


def cluster_steps(names: Iterable[Hashable]) -> Int[np.ndarray, " N"]:
    """The items' cluster numbers as they are stored: each minus the one before, because differences compress well."""
    return np.diff(np.asarray(numbered(names), np.int64), prepend=0).astype(np.int32)


@cache
def _open(path: Path) -> Any:
    return np.load(path) if path.exists() else {}


def _source(row: Result) -> tuple[object, ...]:
    """What was measured together: a run, or a probe of some vectors on some data."""
    return (row.run, row.commit) if row.run else (row.table, row.data, row.model, row.fingerprint)
