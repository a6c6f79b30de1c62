"""Verdicts on the claims: the rule, worlds without effects, and what the committed results say."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from elmokit.metrics.statistics import t_quantile
from elmokit.runs.results_table import Result
from paper.claims import JUDGES, Claim, Comparison, Finding, Verdict, judged, read_claims, verdicts
from paper.experiments import SIX_TASKS
from paper.results import ItemCounts, Results
from paper.statistics import (
    Difference,
    average_f1,
    f1,
    of_interval,
    over_clusters,
    over_seeds,
    pooled,
    share,
)
from paper.tables import printed

UP, WIDE, DOWN = (Difference(at, of_items=error) for at, error in ((1, 0.25), (1, 0.75), (-1, 0.25)))
SLIGHTLY_DOWN = Difference(-1, of_items=0.5)
"""Below zero at 95 %, but not at 97.5 %."""


def verdict(
    *differences: Difference | None, is_pooled: bool = False, improving: bool = False, is_after_rule: bool = True
) -> Verdict:
    findings = [Finding(name, one, improving, is_after_rule) for name, one in zip("abcdef", differences, strict=False)]
    return judged(Claim("", "", ""), [Comparison("tasks", findings, is_pooled)])


@pytest.mark.parametrize(
    ("differences", "outcome", "deciding"),
    [
        ([UP], "held", "a +1.00 [0.51, 1.49]"),
        ([UP, WIDE], "undecided", "b +1.00 [-0.47, 2.47]"),
        ([DOWN, WIDE], "contradicted", "a -1.00 [-1.49, -0.51]"),
        ([UP, DOWN], "mixed", "b -1.00 [-1.49, -0.51]"),
        ([SLIGHTLY_DOWN], "contradicted", "a -1.00 [-1.98, -0.02]"),
        ([UP, SLIGHTLY_DOWN], "undecided", "b -1.00 [-1.98, -0.02]"),
        ([UP, None], "not measured", "b not measured"),
        ([UP, Difference(0.01)], "not measured", "b +0.01 (no error)"),
        ([DOWN, None], "contradicted", "a -1.00 [-1.49, -0.51]"),
    ],
)
def test_both_signs_are_judged_by_the_same_rule(differences: list[Difference | None], outcome: str, deciding: str):
    found = verdict(*differences)
    assert (found.outcome, str(found.deciding)) == (outcome, deciding)


@pytest.mark.parametrize("difference", [UP, DOWN])
def test_runs_that_were_still_improving_decide_nothing(difference: Difference):
    found = verdict(difference, improving=True)
    assert found.outcome == "undecided" and str(found.deciding).endswith("(still improving)")
    assert found.reason == "nothing: in 1 of 1 differences, runs were still improving" and found.detectable is None


def test_a_mean_of_several_tasks_can_decide_but_hides_no_contradiction():
    alike = [Difference(1, of_items=0.6)] * 4
    assert verdict(*alike).outcome == "undecided"
    found = verdict(*alike, is_pooled=True)
    assert (found.outcome, found.said) == ("held", "held on average over the tasks")
    assert found.detectable is not None and found.detectable < Difference(1, of_items=0.6).detectable
    assert verdict(*alike, *[Difference(-5, of_items=0.5)], is_pooled=True).outcome == "contradicted"
    assert verdict(*alike, Difference(1), is_pooled=True).outcome == "not measured"


def test_a_mean_of_runs_that_were_read_before_the_rule_decides_nothing():
    for each, outcome in ((1, "held"), (-1, "contradicted")):
        alike = [Difference(each, of_items=0.52)] * 6
        assert verdict(*alike, is_pooled=True).outcome == outcome
        older = verdict(*alike, is_pooled=True, is_after_rule=False)
        assert older.outcome == "undecided" and older.comparisons[0].pooled  # the mean is still printed


@pytest.mark.parametrize(("number", "is_pooled"), [(1, False), (6, False), (2, True), (3, True), (6, True)])
def test_of_a_thousand_worlds_without_effects_at_most_one_in_twenty_is_judged(number: int, is_pooled: bool):
    noise = np.random.default_rng(0).normal(size=(1000, number, 3))  # three seeds of each difference
    found = [verdict(*(over_seeds(list(seeds)) for seeds in world), is_pooled=is_pooled).outcome for world in noise]
    assert sum(outcome in ("held", "contradicted", "mixed") for outcome in found) <= 50 + 14  # two standard errors
    assert {"held", "contradicted"} & set(found)  # the rule can judge


def test_perplexities_of_the_model_that_ships_count_once_all_texts_have_them(tmp_path: Path):
    row = Result(0.0, "perplexity", "table7", layer="mean", split="dev")
    texts = list(printed()["table7"]["rows"])
    values = {"mini-en": (150.0, 50.0), "small-en": (90.0, 40.0)}
    rows = [
        replace(row, value=value, data=text, model=model, arm=arm, run=f"{model}, {text}, {arm}")
        for model, pair in values.items()
        for text in texts
        for arm, value in zip(("before", "after"), pair, strict=True)
    ]
    for name, given, expected in (
        ("all", rows, "small-en, SNLI, perplexity 90.0 to 40.0"),
        ("without the last", rows[:-1], "mini-en, SNLI, perplexity"),
    ):
        (tmp_path / name).mkdir()
        results = Results(tmp_path / name)
        results.add(given)
        found = judged(read_claims()[8], *JUDGES[8](results))
        assert found.comparisons[0].findings[0].what.startswith(expected)
        assert found.outcome == "not measured" and "measure table7 --model small-en" in found.reason


@cache
def committed() -> list[Verdict]:
    return verdicts(Results())


def test_the_committed_results_decide_some_claims_and_say_what_the_others_could_have_shown():
    found = committed()
    assert len(found) == 11
    assert {one.outcome for one in found} <= {"held", "contradicted", "mixed", "undecided", "not measured"}
    assert all(one.detectable is not None and 0 < one.detectable < 20 for one in found if one.outcome == "held")
    findings = [one for each in found for comparison in each.comparisons for one in comparison.findings]
    assert all(math.isfinite(one.difference.estimate) for one in findings if one.difference)
    assert len(found[0].comparisons[0].findings) == len(SIX_TASKS)


def test_the_pooled_mean_of_the_committed_results_decides_only_if_all_its_runs_are_of_commits_after_the_rule():
    for comparison in (one for each in committed() for one in each.comparisons):
        assert comparison.deciding_mean is None or all(one.is_after_rule for one in comparison.findings)
    by_task = {one.what: one.is_after_rule for one in committed()[0].comparisons[0].findings}
    assert by_task["small-en, NER"]  # the runs of all other tasks may follow


def items(hits: list[int], clusters: list[int] | None = None) -> ItemCounts:
    counts = np.array([[hit, 1.0] for hit in hits])
    return ItemCounts(counts, np.arange(len(hits)) if clusters is None else np.array(clusters))


def test_without_an_error_there_is_no_interval_and_nothing_to_detect():
    for difference in (Difference(0.01), over_seeds([0.5]), over_seeds([1.0, 1.0])):
        assert difference is not None
        assert difference.interval() is None and difference.detectable is None
    assert str(Difference(0.01)) == "+0.01"
    assert over_seeds([]) is None
    assert str(of_interval(0.6, 1.4, 1.0)) == "+1.00 [0.60, 1.40]"


def test_the_interval_over_seeds_is_students_and_items_add_to_it():
    gain = over_seeds([5, 3, 4])
    assert str(gain) == "+4.00 [1.52, 6.48]"  # 4 ± 4.303 / sqrt(3)
    interval = replace(gain or Difference(0), of_items=1.0).interval()
    assert interval is not None
    margin = interval.high - 4
    assert margin == pytest.approx(math.hypot(4.3027 / 3**0.5, 1.96), abs=1e-3)
    assert Difference(0, of_items=1.0).detectable == pytest.approx(1.96 + 0.8416, abs=1e-3)


@pytest.mark.parametrize(
    ("p", "degrees", "quantile"), [(0.975, 1, 12.7062), (0.975, 2, 4.3027), (0.8, 5, 0.9195), (0.995, 18, 2.8784)]
)
def test_students_quantiles(p: float, degrees: int, quantile: float):
    assert t_quantile(p, degrees) == pytest.approx(quantile, abs=1e-4)


def test_items_of_one_cluster_are_drawn_together():
    """Ten clusters, each of twenty equal items, count as ten items, not two hundred."""
    randomness = np.random.default_rng(0)
    before, after = ([int(hit) for hit in randomness.random(10) < share for _ in range(20)] for share in (0.4, 0.6))
    clusters = [number for number in range(10) for _ in range(20)]
    alone = over_clusters([items(before)], [items(after)], score=share)
    together = over_clusters([items(before, clusters)], [items(after, clusters)], score=share)
    assert alone.estimate == together.estimate
    assert together.of_items / alone.of_items == pytest.approx(20**0.5, rel=0.1)


def test_the_bootstrap_agrees_with_the_error_of_a_mean_of_differences():
    randomness = np.random.default_rng(1)
    before, after = ((randomness.random(2000) < level).astype(int).tolist() for level in (0.5, 0.6))
    found = over_clusters([items(before)], [items(after)], score=share)
    differences = 100 * (np.array(after) - np.array(before))
    assert found.estimate == pytest.approx(differences.mean())
    assert found.of_items == pytest.approx(differences.std() / 2000**0.5, rel=0.1)
    assert over_clusters([items(after)] * 2, [items(after)], score=share).of_items == 0


def test_scores_of_sums():
    assert f1(np.array([[6.0, 8, 10]]))[0] == pytest.approx(100 * 2 * 6 / 18)
    assert f1(np.array([[6.0, 8, 5, 10]]))[0] == pytest.approx(60)  # precision 3/4, recall 1/2
    assert average_f1(np.array([[6.0, 8, 5, 10, 0, 8, 0, 10, 1, 1, 1, 1]]))[0] == pytest.approx(160 / 3)
    assert f1(np.zeros((1, 3)))[0] == 0


def test_the_pooled_mean_covers_what_tasks_differ_in():
    alike = [Difference(value, of_items=0.5) for value in (1.0, 1.2, 0.8)]
    mean = pooled(alike)
    assert mean is not None and mean.estimate == pytest.approx(1.0) and mean.num_seeds == 3
    assert mean.error == pytest.approx(0.5 / 3**0.5)  # at least what the single errors imply
    apart = pooled([Difference(value, of_items=0.1) for value in (0.0, 2.0, 4.0)])
    assert apart is not None and apart.error == pytest.approx(2 / 3**0.5)
    assert pooled(alike[:1]) is None and pooled([*alike, Difference(1.0)]) is None
