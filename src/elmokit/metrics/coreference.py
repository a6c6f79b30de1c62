"""Coreference: MUC, B-cubed and CEAF-e, as CoNLL-2012 scores them (reference-coreference-scorers 8.01, Perl)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from statistics import fmean
from typing import TypeVar

from elmokit.metrics.score import Score

M = TypeVar("M", bound="Hashable")


@dataclass(frozen=True)
class CoreferenceScore:
    """Scores of one document; `+` joins documents by adding numerators and denominators, as the scorer's totals do."""

    mentions: Score = field(default_factory=Score)
    """Score of the mentions alone, whatever cluster they are in."""
    muc: Score = field(default_factory=Score)
    b_cubed: Score = field(default_factory=Score)
    ceaf_e: Score = field(default_factory=Score)

    @property
    def average_f1(self) -> float:
        """The CoNLL score: the mean of the F1 of MUC, B-cubed and CEAF-e, in percent."""
        return fmean([self.muc.f1, self.b_cubed.f1, self.ceaf_e.f1])

    def __add__(self, other: CoreferenceScore) -> CoreferenceScore:
        return CoreferenceScore(*map(add, vars(self).values(), vars(other).values()))


def score_coreference(*, gold: Iterable[Iterable[M]], predicted: Iterable[Iterable[M]]) -> CoreferenceScore:
    """Compare the clusters of one document. A mention is any hashable value, such as its `(first, last)` tokens.

    Mentions that one side lacks are not added to it. Clusters of a single mention, on either side, count for B-cubed
    and CEAF-e but not for MUC, which scores links (the key of CoNLL-2012 has no such clusters). If a gold mention is
    predicted more than once, its first cluster counts. No cluster is empty.
    """
    keys = [list(cluster) for cluster in gold]
    cluster_of = {mention: number for number, cluster in enumerate(keys) for mention in cluster}
    responses = _without_repeats(predicted, cluster_of.keys())
    found = {mention for cluster in responses for mention in cluster}
    return CoreferenceScore(
        mentions=Score.of_matches(correct=len(found & cluster_of.keys()), predicted=len(found), gold=len(cluster_of)),
        muc=_muc(keys, responses, cluster_of),
        b_cubed=_b_cubed(keys, responses, cluster_of),
        ceaf_e=_ceaf_e(keys, responses),
    )


def best_alignment(similarity: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """The (row, column) pairs with the largest sum of similarities, at most one pair per row and column (Kuhn-Munkres).

    The shorter side is aligned completely. Rows are added one by one, each along the shortest augmenting path under
    prices that make every edge of the alignment so far free. This takes O(rows * rows * columns) steps when there are
    at most as many rows as columns; otherwise the two sides are swapped.
    """
    if not similarity:
        return []
    if len(similarity) > len(similarity[0]):
        return sorted((row, column) for column, row in best_alignment(list(zip(*similarity, strict=True))))
    num_rows, num_columns = len(similarity), len(similarity[0])
    start = num_columns  # an extra column, where the path of each new row begins
    row_price, column_price = [0.0] * num_rows, [0.0] * (num_columns + 1)
    row_of: list[int | None] = [None] * (num_columns + 1)
    for row in range(num_rows):
        row_of[start] = row
        distance, came_from = [math.inf] * num_columns, [start] * num_columns
        reached: list[tuple[int, int]] = []
        unreached = set(range(num_columns))
        column = start
        while (current := row_of[column]) is not None:
            reached.append((current, column))
            for other in unreached:
                through = -similarity[current][other] - row_price[current] - column_price[other]
                if through < distance[other]:
                    distance[other], came_from[other] = through, column
            column = min(unreached, key=distance.__getitem__)
            nearest = distance[column]
            for paid, other in reached:
                row_price[paid] += nearest
                column_price[other] -= nearest
            for other in unreached:
                distance[other] -= nearest
            unreached.remove(column)
        while column != start:
            row_of[column] = row_of[came_from[column]]
            column = came_from[column]
    return sorted((row, column) for column, row in enumerate(row_of[:start]) if row is not None)


def _without_repeats(clusters: Iterable[Iterable[M]], gold_mentions: Collection[M]) -> list[list[M]]:
    """The clusters, with each gold mention only where it occurs first. The scorer lets other mentions repeat."""
    seen: set[M] = set()
    unique: list[list[M]] = []
    for cluster in clusters:
        unique.append([])
        for mention in cluster:
            if mention not in seen:
                unique[-1].append(mention)
            if mention in gold_mentions:
                seen.add(mention)
    return [cluster for cluster in unique if cluster]


def _muc(keys: list[list[M]], responses: list[list[M]], cluster_of: Mapping[M, int]) -> Score:
    """Score of links: a cluster of n mentions has n - 1 links. A link that both sides have is correct."""
    correct = 0
    for cluster in responses:
        numbers = [cluster_of[mention] for mention in cluster if mention in cluster_of]
        correct += len(numbers) - len(set(numbers))
    return Score.of_matches(correct=correct, predicted=_num_links(responses), gold=_num_links(keys))


def _num_links(clusters: list[list[M]]) -> int:
    return sum(len(cluster) - 1 for cluster in clusters)


def _b_cubed(keys: list[list[M]], responses: list[list[M]], cluster_of: Mapping[M, int]) -> Score:
    """Mean, over the mentions, of the share of their cluster that is also in the other side's cluster."""
    members = [set(cluster) for cluster in keys]
    correct = recalled = 0.0
    for cluster in responses:
        for number, count in Counter(cluster_of[mention] for mention in cluster if mention in cluster_of).items():
            shared = _num_shared(cluster, members[number])  # more than `count` if the key has a mention twice
            correct += count * shared / len(cluster)
            recalled += count * shared / len(keys[number])
    return Score(correct=correct, predicted=sum(map(len, responses)), recalled=recalled, gold=sum(map(len, keys)))


def _ceaf_e(keys: list[list[M]], responses: list[list[M]]) -> Score:
    """Score of clusters aligned one to one; each pair counts as its Dice coefficient (phi 4 of Luo, 2005)."""
    members = [set(cluster) for cluster in responses]
    similarity = [
        [
            2 * _num_shared(key, response) / (len(key) + len(cluster))
            for cluster, response in zip(responses, members, strict=True)
        ]
        for key in keys
    ]
    correct = sum(similarity[row][column] for row, column in best_alignment(similarity))
    return Score.of_matches(correct=correct, predicted=len(responses), gold=len(keys))


def _num_shared(cluster: Iterable[M], other: set[M]) -> int:
    return sum(mention in other for mention in cluster)
