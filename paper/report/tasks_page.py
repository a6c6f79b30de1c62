"""Comparisons of tasks -> a part of a page in Markdown, next to the numbers of the paper. Imports no torch."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from elmokit.metrics.interval import paired_t
from elmokit.system.markdown import ABSENT, escape_markdown, markdown_table
from paper.comparisons import gain
from paper.families import gains_by_seed, is_usual
from paper.printed import TABLE_1
from paper.table1 import counterpart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from elmokit.metrics.interval import Interval
    from paper.comparisons import Arm, Comparison, Results
    from paper.table1 import Counterpart

OF_ONE_LABEL = "f1_"
"""Prefix of the scores of single labels, which are too many for the page; each run's metrics.jsonl has them."""
SIZE_SETTINGS = (
    "training.max_train_examples",
    "model.max_train_sentences",
    "model.max_train_tokens",
    "model.phrases",
    "training.max_dev_examples",
    "training.max_epochs",
)
"""Settings that say how much of a data set is used, and how often; 0 means no limit and is not shown."""
NOT_RECORDED = "not recorded"
ENOUGH_SEEDS = 3
"""Number of seeds from which on a standard deviation is meaningful."""


def tasks_section(results: Results) -> str:
    """A part of a page, from its heading of the second level on: comparisons of tasks without ELMo and with it."""
    comparisons = results.comparisons
    parts = [
        "## The tasks, without ELMo and with it",
        "All numbers come from the runs, except the paper's: Peters et al. (2018), Table 1.",
        _summary(comparisons),
        _main_table(comparisons),
        "Scores are in percent: mean ± sample standard deviation over the seeds; one seed has no deviation. Both arms "
        "share all settings except ELMo's. The weights are those of the epoch that is best on the development set. "
        "Relative is the gain in percent of the baseline's distance from 100: the share of its errors that ELMo "
        "removes.",
        _few_seeds(comparisons),
        "### Data",
        _data_list(comparisons),
        _data_table(comparisons),
        "Sizes are in examples: questions, pairs of sentences, predicates, documents, sentences or texts.",
        "### All other scores",
        _other_scores_table(comparisons),
        "### Runs",
        "Seconds are those of training and of evaluating after each epoch, the median of the runs. CPU seconds exclude "
        "other processes. ELMo's activations are computed before that, once per data set.",
        _runs_table(comparisons),
        "### What the mixes have learnt",
        "Weights after the softmax: first the token representation, then the LSTM layers from the lowest up. Means "
        "over the seeds.",
        _mixes_table(comparisons),
    ]
    if results.notes:
        parts += ["### Not compared", "\n".join(f"- {escape_markdown(note)}" for note in results.notes)]
    return "\n\n".join(part for part in parts if part)


def _summary(comparisons: Sequence[Comparison]) -> str:
    """How often ELMo helps, and how often at least as much as in the paper; controls and ablations do not count.

    Of a task's comparisons on the same data, the one of the highest rank counts, and of equals the one that is better
    with ELMo on the development set. Development sets count only where no comparison has a test set.
    """
    usual = [comparison for comparison in comparisons if is_usual(comparison.elmo.runs[0])]
    usual.sort(key=lambda one: (one.rank, one.dev_mean))
    counted = list({(comparison.task, comparison.data): comparison for comparison in usual}.values())
    every = [(comparison, test_set) for comparison in counted for test_set in comparison.test_sets]
    tested = [(comparison, test_set) for comparison, test_set in every if test_set is not None]
    pairs = tested or every
    gains = [_gain(comparison, test_set) for comparison, test_set in pairs]
    better = sum(points > 0 for points, _ in gains)
    targets = [_paper_relative(comparison, test_set) for comparison, test_set in pairs]
    both = [(relative, target) for (_, relative), target in zip(gains, targets, strict=True) if target is not None]
    as_much = sum(relative is not None and round(relative, 1) >= target for relative, target in both)
    where = "test" if tested else "development"
    sets = (
        f"{where} sets (of each, the model of a recipe with the largest training set, converged if there is one, with "
        "ELMo where the recipe has it that is better on the development set)"
    )
    intervals = [_over_seeds(comparison, test_set) for comparison, test_set in pairs]
    surely = sum(interval is not None and interval.low > 0 for interval in intervals)
    text = f"With ELMo the score is higher on {better} of {len(pairs)} {sets}."
    text += f" The 95 % interval of the gain over seeds (Student's t) is above zero on {surely} of them."
    if both:
        text += f" The relative error reduction is at or above the paper's in {as_much} of {len(both)}."
    if others := len(comparisons) - len(usual):
        text += (
            f" Not counted: {others} with random weights, settings of ELMo that no recipe has, or vectors of another "
            "system."
        )
    return text


def _over_seeds(comparison: Comparison, test_set: str | None) -> Interval | None:
    """The interval of the gain; None for a single seed."""
    gains = gains_by_seed(comparison.baseline, comparison.elmo, comparison.metric, test_set=test_set)
    return paired_t(list(gains.values()))


def _paper_relative(comparison: Comparison, test_set: str | None) -> float | None:
    paper = _paper(comparison, test_set)
    return None if paper is None else TABLE_1.cell(paper.row, "relative").value


def _paper(comparison: Comparison, test_set: str | None) -> Counterpart | None:
    """The paper's row, for ELMo as in a recipe."""
    return counterpart(comparison, test_set) if is_usual(comparison.elmo.runs[0]) else None


def _few_seeds(comparisons: Sequence[Comparison]) -> str:
    """The comparisons with few seeds, and how long their longest run took; empty if there is none."""
    longest: dict[tuple[str, int], float] = {}  # controls have the sample of the comparison that they stand next to
    for comparison, test_set in [(one, test_set) for one in comparisons for test_set in one.test_sets]:
        paired = comparison.paired(test_set)
        if (runs := len(paired.elmo.runs)) < ENOUGH_SEEDS:
            seconds = max(result.seconds for result in [*paired.baseline.results, *paired.elmo.results])
            key = f"{comparison.task} on {escape_markdown(comparison.sample)}", runs
            longest[key] = max(seconds, longest.get(key, 0.0))
    few: list[str] = []
    for (sample, runs), seconds in longest.items():
        minutes = round(seconds / 60)
        few.append(f"{sample} ({runs}; a run took up to {minutes} minute{'' if minutes == 1 else 's'})")
    return f"Fewer than {ENOUGH_SEEDS} seeds: {', '.join(few)}." if few else ""


def _main_table(comparisons: Sequence[Comparison]) -> str:
    header = (
        *("task", "measured on", "test set", "metric", "seeds", "baseline", "+ ELMo", "gain", "relative"),
        *("dev: baseline", "+ ELMo", "paper: baseline", "+ ELMo", "gain", "relative"),
    )
    rows: list[list[str]] = []
    for comparison in comparisons:
        for test_set in comparison.test_sets:
            points, relative = _gain(comparison, test_set)
            paired = comparison.paired(test_set)  # also of the development set, so that a row is of the same seeds
            rows.append(
                [
                    comparison.task,
                    paired.measured_on(with_seeds=False),
                    test_set or "none: dev",
                    comparison.metric,
                    str(len(paired.elmo.runs)),
                    *_scores(paired, comparison.metric, test_set),
                    f"{points:+.2f}",
                    ABSENT if relative is None else f"{relative:.1f} %",
                    *_scores(paired, comparison.metric, None),
                    *_paper_cells(comparison, test_set),
                ]
            )
    return markdown_table(header, rows, num_names=4)


def _paper_cells(comparison: Comparison, test_set: str | None) -> list[str]:
    paper = _paper(comparison, test_set)
    if paper is None:
        return [ABSENT] * 4
    cells = [TABLE_1.cell(paper.row, column).text for column in ("baseline", "+ ELMo", "gain", "relative")]
    return [*cells[:3], f"{cells[3]} %"]


def _gain(comparison: Comparison, test_set: str | None) -> tuple[float, float | None]:
    paired = comparison.paired(test_set)
    before, after = (arm.score(comparison.metric, test_set=test_set) for arm in (paired.baseline, paired.elmo))
    assert before is not None and after is not None, "every result has its task's metric"
    return gain(before.mean, after.mean)


def _scores(comparison: Comparison, name: str, test_set: str | None) -> list[str]:
    paired = comparison.paired(test_set)
    return [_cell(arm, name, test_set) for arm in (paired.baseline, paired.elmo)]


def _cell(arm: Arm, name: str, test_set: str | None) -> str:
    """A score's mean and deviation, with the number of runs that have the score, if not all do."""
    statistic = arm.score(name, test_set=test_set)
    if statistic is None:
        return ABSENT
    some = f" ({len(statistic.values)} of {len(arm.runs)})" if len(statistic.values) < len(arm.runs) else ""
    return f"{statistic}{some}"


def _data_list(comparisons: Sequence[Comparison]) -> str:
    lines: dict[str, None] = {}
    for comparison in comparisons:
        for test_set in comparison.test_sets:
            if (paper := counterpart(comparison, test_set)) is not None:
                lines[f"- {comparison.task}: {paper.data}"] = None
    return "\n".join(lines)


def _data_table(comparisons: Sequence[Comparison]) -> str:
    header = (
        *("task", "data", "training set", "of it used", "development set"),
        *("test sets", "settings", "word vectors", "biLM"),
    )
    rows = dict.fromkeys(map(_data_row, comparisons))  # arms of the same data share a row
    return markdown_table(header, rows, num_names=len(header))


def _data_row(comparison: Comparison) -> tuple[str, ...]:
    run = comparison.baseline.runs[0]
    counts = run.record.counts
    train = counts["train"]
    tests = {name.removeprefix("test "): part for name, part in counts.items() if name not in ("train", "dev")}
    settings = run.settings
    sizes = {name.split(".")[1]: settings[name] for name in SIZE_SETTINGS if name in settings}
    elmo = comparison.elmo.runs[0]
    return (
        comparison.task,
        comparison.data,
        _size(train),
        f"{train.get('used', train['examples']):,}",
        _size(counts["dev"]),
        "; ".join(f"{name}: {_size(part)}" for name, part in tests.items()) or ABSENT,
        ", ".join(f"{name}={value}" for name, value in sizes.items() if value is False or value) or ABSENT,
        settings["inputs.word_vectors"] or ABSENT,
        elmo.model,
    )


def _size(counts: Mapping[str, int]) -> str:
    left_out = [f"{number:,} {reason}" for reason, number in counts.items() if reason not in ("examples", "used")]
    return f"{counts['examples']:,}" + (f" (left out: {', '.join(left_out)})" if left_out else "")


def _other_scores_table(comparisons: Sequence[Comparison]) -> str:
    header = (
        *("task", "measured on", "test set", "score"),
        *("baseline", "+ ELMo", "gain", "dev: baseline", "+ ELMo", "gain"),
    )
    rows: list[list[str]] = []
    for comparison in comparisons:
        for test_set in comparison.test_sets:
            paired = comparison.paired(test_set)  # as in the main table
            for name in _score_names(paired, test_set):
                tested = [ABSENT] * 3 if test_set is None else _scores_and_gain(paired, name, test_set)
                names = [comparison.task, paired.measured_on(with_seeds=False), test_set or ABSENT, name]
                rows.append([*names, *tested, *_scores_and_gain(paired, name, None)])
    return markdown_table(header, rows, num_names=4)


def _score_names(comparison: Comparison, test_set: str | None) -> list[str]:
    found: dict[str, None] = {}
    for result in [*comparison.baseline.results, *comparison.elmo.results]:
        for scores in (result.test.get(test_set or "", {}), result.dev):
            found |= dict.fromkeys(scores)
    return [name for name in found if name != comparison.metric and not name.startswith(OF_ONE_LABEL)]


def _scores_and_gain(comparison: Comparison, name: str, test_set: str | None) -> list[str]:
    paired = comparison.paired(test_set)
    before, after = (arm.score(name, test_set=test_set) for arm in (paired.baseline, paired.elmo))
    points = ABSENT if before is None or after is None else f"{after.mean - before.mean:+.2f}"
    return [*_scores(comparison, name, test_set), points]


def _runs_table(comparisons: Sequence[Comparison]) -> str:
    header = ("task", "measured on", "seeds", "machine", "version, commit", "seconds", "CPU seconds", "best epochs")
    rows: dict[tuple[str, ...], None] = {}  # a baseline of several arms has one row
    for comparison in comparisons:
        baseline = f"{comparison.sample}, no ELMo"
        arms = ((baseline, comparison.baseline), (comparison.measured_on(with_seeds=False), comparison.elmo))
        for name, arm in arms:
            processor = arm.median_processor_seconds
            row = (
                comparison.task,
                name,
                ", ".join(str(run.seed) for run in arm.runs),
                "; ".join(arm.machines) or NOT_RECORDED,
                "; ".join(arm.sources) or NOT_RECORDED,
                f"{arm.median_seconds:,.0f}",
                ABSENT if processor is None else f"{processor:,.0f}",
                ", ".join(str(result.best_epoch) for result in arm.results),
            )
            rows[row] = None
    return markdown_table(header, rows, num_names=5)


def _mixes_table(comparisons: Sequence[Comparison]) -> str:
    header = ("task", "measured on", "mix at the", "weights", "gamma")
    rows = [row for comparison in comparisons for row in _mix_rows(comparison)]
    return markdown_table(header, rows, num_names=3)


def _mix_rows(comparison: Comparison) -> list[list[str]]:
    names = [comparison.task, comparison.measured_on(with_seeds=False)]
    rows: list[list[str]] = []
    for position in ("input", "output"):
        mixes = [result.mixes[position] for result in comparison.elmo.results if position in result.mixes]
        if mixes:
            weights = [mix.weights for mix in mixes if mix.weights]
            means = [f"{statistics.fmean(of_layer):.2f}" for of_layer in zip(*weights, strict=True)]
            gamma = statistics.fmean(mix.gamma for mix in mixes)
            rows.append([*names, position, " ".join(means) or ABSENT, f"{gamma:.2f}"])
    return rows or [[*names, ABSENT, NOT_RECORDED, ABSENT]]
