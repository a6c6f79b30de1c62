"""Runs of arms, differences between them, and how much other seeds and other test items would change these.

Items: the paired bootstrap of Efron and Tibshirani (1993) draws clusters of test items with replacement, the same ones
for both systems. Tasks: Student's t, which holds for tasks that differ (random effects).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.metrics.statistics import CONFIDENCE, Interval, Statistic, t_quantile
from elmokit.runs.results_table import Result
from paper.experiments import DATASETS, start_of
from paper.results import ItemCounts, Results

if TYPE_CHECKING:
    from jaxtyping import Float

BASELINE, IMPROVING, UNKNOWN = "no ELMo", "†", "unknown"
POWER = 0.8
RESAMPLES = 1000
ENOUGH_SEEDS = 3
"""Student's interval over two seeds is almost four times as wide as that over three."""
_NORMAL = statistics.NormalDist()


@dataclass(frozen=True)
class Difference:
    """An estimate, in points, and its standard errors."""

    estimate: float
    of_seeds: float = 0.0
    """Standard error over seeds, estimated from `num_seeds` of them."""
    num_seeds: int = 2
    of_items: float = 0.0
    """Standard error over test items."""

    @property
    def error(self) -> float:
        return math.hypot(self.of_seeds, self.of_items)

    def interval(self, level: float = CONFIDENCE) -> Interval | None:
        """Student's margin over seeds and the normal margin over items, added in squares; None without an error.

        In simulations with three seeds, it contains the true value in 95 to 98 % of cases, whichever error is larger.
        """
        margin = self._margin((1 + level) / 2)
        return Interval(self.estimate, self.estimate - margin, self.estimate + margin) if self.error else None

    @property
    def detectable(self) -> float | None:
        """The smallest true effect whose 95 % interval lies above zero with a probability of 80 %."""
        return self._margin((1 + CONFIDENCE) / 2) + self._margin(POWER) if self.error else None

    def _margin(self, p: float) -> float:
        return math.hypot(t_quantile(p, self.num_seeds - 1) * self.of_seeds, _NORMAL.inv_cdf(p) * self.of_items)

    def __str__(self) -> str:
        return str(self.interval() or f"{self.estimate:+.2f}")


def over_seeds(differences: Sequence[float]) -> Difference | None:
    """The mean of differences between runs of the same seed; None without any. A single one has no error."""
    if not differences:
        return None
    mean, number = statistics.fmean(differences), len(differences)
    return (
        Difference(mean, statistics.stdev(differences) / math.sqrt(number), number) if number > 1 else Difference(mean)
    )


def over_clusters(
    first: Sequence[ItemCounts],
    second: Sequence[ItemCounts],
    *,
    score: Callable[[Float[np.ndarray, "N C"]], Float[np.ndarray, " N"]],
) -> Difference:
    """The gain of the second system over the first, with its standard error over clusters of test items.

    first, second: the items of each run of a system (one per seed); all runs have the same items.
    score: turns rows of sums into scores. A system's score is the mean over its runs.
    """
    sums = np.hstack([run.by_cluster() for run in (*first, *second)])
    width = sums.shape[1] // (len(first) + len(second))
    rows, times = np.unique(sums, axis=0, return_counts=True)  # items are often alike

    def gains(totals: Float[np.ndarray, "N _"]) -> Float[np.ndarray, " N"]:
        scores = [score(totals[:, at : at + width]) for at in range(0, totals.shape[1], width)]
        return np.mean(scores[len(first) :], axis=0) - np.mean(scores[: len(first)], axis=0)

    drawn = np.random.default_rng(0).multinomial(times.sum(), times / times.sum(), size=RESAMPLES)
    gain = float(gains((times @ rows)[None])[0])
    return Difference(gain, of_items=float(gains(drawn @ rows).std(ddof=1)))


def of_interval(low: float, high: float, estimate: float) -> Difference:
    """A difference from its 95 % interval over test items, where the items were not kept."""
    return Difference(estimate, of_items=(high - low) / (2 * _NORMAL.inv_cdf((1 + CONFIDENCE) / 2)))


def gain_over_items(
    before: ItemCounts | None, after: ItemCounts | None, score: Callable[[Float[np.ndarray, "N C"]], Any]
) -> Difference | None:
    """The gain of one system over another; None if the items of either are not known."""
    return over_clusters([before], [after], score=score) if before and after else None


def pooled(differences: Sequence[Difference]) -> Difference | None:
    """The random-effects mean of independent differences; None for fewer than two, or if one has no error.

    All have the same weight, because errors over three seeds are too uncertain for weights: in a simulation without
    effects, weighted means were above or below zero too often. The error is at least what the single errors imply.
    """
    number = len(differences)
    if number < 2 or not all(one.error for one in differences):
        return None
    estimates = [one.estimate for one in differences]
    within = math.sqrt(sum(one.error**2 for one in differences)) / number
    error = max(within, statistics.stdev(estimates) / math.sqrt(number))
    return Difference(statistics.fmean(estimates), of_seeds=error, num_seeds=number)


@dataclass(frozen=True)
class Batch:
    """Runs of an arm that differ only in their seed: no seed occurs twice."""

    rows: tuple[Result, ...]

    @cached_property
    def scores(self) -> Mapping[int | None, float]:
        return {row.seed: row.value for row in self.rows}

    @property
    def mean(self) -> float:
        return statistics.fmean(self.scores.values())

    @property
    def was_improving(self) -> bool:
        """Whether a run was still improving when its training ended."""
        return any(row.was_improving for row in self.rows)

    @property
    def minutes(self) -> float:
        """CPU minutes of a run."""
        return statistics.fmean(row.cpu_minutes or 0.0 for row in self.rows)

    @property
    def date(self) -> str:
        return max(row.settings.get("date", "") for row in self.rows)

    @property
    def commits(self) -> set[str]:
        return {row.commit for row in self.rows}

    @property
    def machines(self) -> set[str]:
        return {row.machine for row in self.rows}

    def __str__(self) -> str:
        """Mean and standard deviation, with a mark if a run was still improving."""
        return f"{Statistic(tuple(self.scores.values()))}{f' {IMPROVING}' if self.was_improving else ''}"


@dataclass(frozen=True)
class Pair:
    """An arm and the baseline that it is compared with."""

    baseline: Batch
    arm: Batch
    over_items: Difference | None = None
    """The gain over test items, if they are known."""

    @property
    def has_same_source(self) -> bool:
        """Whether both were trained by the same commit on the same kind of machine."""
        is_recorded = not (self.arm.commits | self.arm.machines) & {"", UNKNOWN}
        return is_recorded and self.agreement == (True, True)

    @property
    def was_improving(self) -> bool:
        return self.baseline.was_improving or self.arm.was_improving

    @cached_property
    def gains(self) -> dict[int | None, float]:
        """The gains by seed."""
        before, after = self.baseline.scores, self.arm.scores
        return {seed: after[seed] - score for seed, score in before.items() if seed in after}

    @property
    def gain(self) -> Difference | None:
        """The mean gain, with its errors over seeds and, if the items are known, over test items."""
        found = over_seeds(list(self.gains.values()))
        return found and replace(found, of_items=self.over_items.of_items if self.over_items else 0.0)

    @property
    def where(self) -> Result:
        return self.arm.rows[0]

    @property
    def agreement(self) -> tuple[bool, bool]:
        """Whether both are of the same commits, and of the same machines."""
        return self.baseline.commits == self.arm.commits, self.baseline.machines == self.arm.machines

    @property
    def rank(self) -> tuple[int, bool, bool, int, str, str]:
        """Higher for pairs with three seeds, then of one commit, then of one machine, then with more seeds or newer."""
        number = len(self.gains)
        return (min(number, ENOUGH_SEEDS), *self.agreement, number, self.arm.date, self.baseline.date)


def batches(rows: Iterable[Result]) -> list[Batch]:
    """The runs of an arm, in batches by commit and machine if a seed was trained several times."""
    ordered = sorted(rows, key=lambda row: (row.settings.get("date", ""), row.commit, row.machine, row.seed or 0))
    if len({row.seed for row in ordered}) == len(ordered):
        return [Batch(tuple(sorted(ordered, key=lambda row: row.seed or 0)))] if ordered else []
    found: dict[tuple[str, str], list[Result]] = {}
    for row in ordered:
        found.setdefault((row.commit, row.machine), []).append(row)
    return [Batch(tuple(one)) for one in found.values()]


def pairs(
    results: Results,
    table: str,
    better: str,
    worse: str = BASELINE,
    *,
    model: str = "",
    tests: bool | None = None,
    **where: Any,
) -> list[Pair]:
    """Each batch of an arm with the best batch of the arm that it is compared with.

    Both have the same task, data, recipe, sizes and split.

    model: the biLM of the arm, or the one that the arm's weights were made from; empty for all.
    tests: whether scores are on test sets, or on development sets; None for both.
    where: values of columns, as for `Results.select`.
    """
    metrics = {name: dataset.metric for name, dataset in DATASETS.items()}
    rows = [row for row in results.select(table, **where) if row.run and row.metric == metrics.get(row.task)]
    rows = [row for row in rows if tests in (None, row.split != "dev")]
    arms: dict[tuple[object, ...], list[Result]] = {}
    for row in rows:
        if row.arm == better and model in ("", start_of(row.model)):
            arms.setdefault((_conditions(row), row.corpus_size, row.model, row.fingerprint), []).append(row)
    others = [row for row in rows if row.arm == worse]
    found: list[Pair] = []
    for own in arms.values():
        one, start = own[0], start_of(own[0].model)
        compared = [
            row
            for row in others
            if _conditions(row) == _conditions(one)
            and row.corpus_size in (None, one.corpus_size)  # "none" of the Latin runs has read no raw text
            and start_of(row.model) in ("", start)
        ]
        candidates = batches(compared)
        for batch in batches(own) if candidates else ():
            best = max((Pair(other, batch) for other in candidates), key=lambda pair: pair.rank)
            found.append(with_items(results, best))
    return found


def with_items(results: Results, pair: Pair) -> Pair:
    """The pair with its gain over test items, if they are known."""
    return replace(pair, over_items=_over_items(results, pair))


def best_pair(
    results: Results, table: str, better: str, worse: str = BASELINE, *, model: str = "", **where: Any
) -> Pair | None:
    """The pair that tables and claims use: with three seeds, of one commit, of one machine, with most seeds, newest."""
    found = pairs(results, table, better, worse, model=model, **where)
    return max(found, key=lambda pair: pair.rank, default=None)


def best_batch(rows: Iterable[Result]) -> Batch:
    """The batch with most seeds; among equals, the newest."""
    return max(batches(rows), key=lambda batch: (len(batch.rows), batch.date))


def curve(results: Results, task: str, model: str, recipe: str) -> dict[int, Pair]:
    """The best pair of a task by the size of its training set, smallest first."""
    where: dict[str, Any] = {"task": task, "recipe": recipe, "split": "dev"}
    found: dict[int, Pair] = {}
    for one in pairs(results, "figure1", "+ ELMo", model=model, **where):
        size = one.where.train_size or 0
        found[size] = max(one, found.get(size, one), key=lambda pair: pair.rank)
    return dict(sorted(found.items()))


def learnt_mix(results: Results, task: str, model: str, arm: str, place: str) -> tuple[list[float], float]:
    """The weights that a mix has learnt for the layers, lowest first, and gamma: means over the best batch of runs."""
    own = results.select("figure2", task=task, model=model, arm=arm)
    best = best_batch(row for row in own if row.layer == place)
    runs = {(row.run, row.commit) for row in best.rows}
    weights: dict[str, list[float]] = {}
    for row in own:
        if (row.run, row.commit) in runs and row.metric == "weight" and row.layer.startswith(f"{place} "):
            weights.setdefault(row.layer, []).append(row.value)
    return [statistics.fmean(weights[layer]) for layer in sorted(weights)], best.mean


def layer_gain(results: Results, row: Result, better: str, worse: str) -> Difference | None:
    """The gain of a layer over another one of the same model, over clusters of test items."""
    before, after = (results.probe_items(replace(row, layer=layer)) for layer in (worse, better))
    if before and after:
        return gain_over_items(before, after, share)
    metric = "gain in same sense" if row.table == "table4" else "gain"
    return _kept_interval(results, replace(row, layer=f"{better} over {worse}"), metric)


def _conditions(row: Result) -> tuple[object, ...]:
    """What an arm and its baseline have in common."""
    return row.task, row.data, row.settings.get("recipe", ""), row.train_size, row.split


def _over_items(results: Results, pair: Pair) -> Difference | None:
    """The gain over clusters of test items; without the items, from the interval that was kept."""
    known = [[one for row in batch.rows if (one := results.run_items(row))] for batch in (pair.baseline, pair.arm)]
    if [*map(len, known)] == [len(pair.baseline.rows), len(pair.arm.rows)]:
        return over_clusters(*known, score=SCORES[DATASETS[pair.where.task].task])
    kept = _kept_interval(results, pair.where, "gain over items")
    gains = list(pair.gains.values())
    is_same = kept is not None and bool(gains) and math.isclose(kept.estimate, statistics.fmean(gains), abs_tol=1e-4)
    return kept if is_same else None


def _kept_interval(results: Results, row: Result, metric: str) -> Difference | None:
    same = ("task", "data", "arm", "model", "fingerprint", "layer")
    rows = results.select(row.table, **{name: getattr(row, name) for name in same})
    kept = {one.metric: one.value for one in rows}
    if f"{metric}, low" not in kept:
        return None
    return of_interval(kept[f"{metric}, low"], kept[f"{metric}, high"], kept[metric])


def f1(sums: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " N"]:
    """F1 in percent. Columns: correct, predicted and gold, or correct, predicted, found and gold (as B-cubed needs)."""
    correct, predicted, found, gold = (sums[:, at] for at in ((0, 1, 0, 2) if sums.shape[1] == 3 else range(4)))
    precision, recall = _share(correct, predicted), _share(found, gold)
    return 100 * _share(2 * precision * recall, precision + recall)


def share(sums: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " N"]:
    return 100 * _share(sums[:, 0], sums[:, 1])


def average_f1(sums: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " N"]:
    return np.mean([f1(sums[:, at : at + 4]) for at in (0, 4, 8)], axis=0)


def perplexity_fall(sums: Float[np.ndarray, "N C"]) -> Float[np.ndarray, " N"]:
    """Minus the perplexity, so that a fall is a gain. Columns: bits, and the number of predictions."""
    return -np.exp2(_share(sums[:, 0], sums[:, 1]))


SCORES = {
    "named-entities": f1,
    "semantic-roles": f1,
    "coreference": average_f1,
    "entailment": share,
    "question-answering": share,
    "sentiment": share,
    "tags": share,
}
"""By task, the function that computes a score from the sums of `train.COUNTS`."""


def _share(part: Float[np.ndarray, " N"], whole: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    return np.divide(part, whole, out=np.zeros_like(part, dtype=float), where=whole != 0)
