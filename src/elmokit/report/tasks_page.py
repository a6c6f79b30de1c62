"""Comparisons of tasks -> a page in Markdown, beside the numbers of Peters et al. (2018). Imports no torch."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elmokit.report.task_results import gain
from elmokit.text.markdown import escape_markdown, markdown_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from elmokit.report.task_results import Arm, Comparison, Results, Statistic

ABSENT = "–"
OF_ONE_LABEL = "f1_"
"""How the scores begin that a label has by itself; they are too many for the page, and in each run's metrics.jsonl."""
SIZE_SETTINGS = (
    "training.max_train_examples",
    "model.max_train_sentences",
    "model.max_train_tokens",
    "model.phrases",
    "training.max_dev_examples",
    "training.max_epochs",
)
"""Settings that say how much of a data set is used, and how often; 0 is no limit, and not shown."""


@dataclass(frozen=True)
class PaperResult:
    """A row of Table 1 of Peters et al. (2018), as printed."""

    data: str
    baseline: str
    elmo: str
    gain: str
    relative: float
    """Percent of the baseline's error."""


PAPER = {
    "question-answering": PaperResult("SQuAD 1.1", "81.1", "85.8", "4.7", 24.9),
    "entailment": PaperResult("SNLI", "88.0", "88.7 ± 0.17", "0.7", 5.8),
    "semantic-roles": PaperResult("CoNLL-2012", "81.4", "84.6", "3.2", 17.2),
    "coreference": PaperResult("CoNLL-2012", "67.2", "70.4", "3.2", 9.8),
    "named-entities": PaperResult("CoNLL-2003", "90.15", "92.22 ± 0.10", "2.06", 21),
    "sentiment": PaperResult("SST-5", "51.4", "54.7 ± 0.5", "3.3", 6.8),
}

DATA = {
    ("question-answering", "dev-v1.1.json"): "SQuAD 1.1, whose test set is not public: the paper's numbers are of that "
    "one, ours of the public development set. To develop on, articles of the training file are set apart. "
    "The whole training set has 87,599 questions.",
    ("entailment", "snli_1.0_test.jsonl"): "SNLI, with its own development and test set. "
    "The whole training set has 549,367 pairs.",
    ("semantic-roles", "test.verbs.gold_conll"): "PropBank on the English Web Treebank, verbs without auxiliaries, in "
    "place of OntoNotes, which is not free: another text and other roles, so the scores are not those of CoNLL-2012.",
    ("semantic-roles", "test.gold_conll"): "PropBank on the English Web Treebank, all predicates (verbs, nouns, "
    "adjectives), in place of OntoNotes, which is not free: the scores are not those of CoNLL-2012.",
    ("coreference", "test.gold_conll"): "OntoGUM, which annotates GUM as OntoNotes does, in place of OntoNotes itself, "
    "which is not free: other and fewer documents, so the scores are not those of CoNLL-2012.",
    ("named-entities", "eng.testb"): "CoNLL-2003, as in the paper. The paper's word vectors are Senna's.",
    ("sentiment", "test.txt"): "The Stanford Sentiment Treebank, as in the paper, which trains on phrases of it.",
}
"""(Task, test file) of the data sets that stand beside the paper's, and how they differ from those."""

ENOUGH_SEEDS = 3
"""To give a deviation that means something."""


def results_page(results: Results, command: str) -> str:
    parts = [
        "# Results of the tasks",
        f"This file is written by `{command}`; the next time, changes in it are lost. Every number is of the runs, but "
        "for those of the paper: Peters et al. (2018), Table 1.",
        _summary(results.comparisons),
        markdown_table(
            (
                "task",
                "data",
                "test set",
                "metric",
                "ELMo at",
                "seeds",
                "baseline",
                "+ ELMo",
                "gain",
                "relative",
                "dev: baseline",
                "+ ELMo",
                "paper: baseline",
                "+ ELMo",
                "gain",
                "relative",
            ),
            (row for one in results.comparisons for row in _main_rows(one)),
            num_names=5,
        ),
        "Scores are in percent: mean ± sample standard deviation over the seeds; one seed has no deviation. Both arms "
        "have the same settings, but for ELMo's. The weights are those of the epoch that is best on the development "
        "set. Relative is the gain in percent of the baseline's distance from 100: the share of its errors that ELMo "
        "takes away.",
        _few_seeds(results.comparisons),
        "## Data",
        _data_list(results.comparisons),
        markdown_table(
            (
                "task",
                "data",
                "training set",
                "of it used",
                "development set",
                "test sets",
                "settings",
                "word vectors",
                "biLM",
            ),
            dict.fromkeys(map(_data_row, results.comparisons)),  # one for all arms that share it
            num_names=9,
        ),
        "Sizes are in examples: questions, pairs of sentences, predicates, documents, sentences or texts.",
        "## All other scores",
        markdown_table(
            (
                "task",
                "data",
                "ELMo at",
                "test set",
                "score",
                "baseline",
                "+ ELMo",
                "gain",
                "dev: baseline",
                "+ ELMo",
                "gain",
            ),
            (row for one in results.comparisons for row in _other_rows(one)),
            num_names=5,
        ),
        "## Runs",
        "Seconds are those of training and of evaluating after each epoch, the median of the runs, those of the "
        "processor without what other programs took meanwhile; ELMo's activations are computed before that, once per "
        "data set.",
        markdown_table(
            (
                *(
                    "task",
                    "data",
                    "ELMo at",
                    "seeds",
                ),
                *(
                    "machine",
                    "seconds",
                    "of the processor",
                    "best epochs",
                ),
            ),
            _run_rows(results.comparisons),
            num_names=5,
        ),
        "## What the mixes have learnt",
        "Weights after the softmax: of the token representation, then of the LSTM layers from the lowest on. Means "
        "over the seeds.",
        markdown_table(
            ("task", "data", "ELMo at", "mix at the", "weights", "gamma"),
            (row for one in results.comparisons for row in _mix_rows(one)),
            num_names=4,
        ),
    ]
    if results.notes:
        parts += ["## Not compared", "\n".join(f"- {escape_markdown(note)}" for note in results.notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _summary(comparisons: Sequence[Comparison]) -> str:
    """How often ELMo helps, and how often as much as in the paper."""
    found = [
        (_gain(one.baseline, one.elmo, one.metric, test_set), _paper(one, test_set))
        for one in comparisons
        for test_set in one.test_sets
    ]
    better = sum(points > 0 for (points, _), _ in found)
    beside = [(relative, paper.relative) for (_, relative), paper in found if paper is not None]
    as_much = sum(relative is not None and round(relative, 1) >= target for relative, target in beside)
    text = f"With ELMo the score is higher in {better} of {len(found)} comparisons."
    if beside:
        text += f" The relative error reduction is at or above the paper's in {as_much} of {len(beside)}."
    return text


def _few_seeds(comparisons: Sequence[Comparison]) -> str:
    """Comparisons whose deviations say little, and how long their longest run was; empty where there is none."""
    few: dict[str, None] = {}
    for one in comparisons:
        runs = min(len(one.baseline.runs), len(one.elmo.runs))
        if runs < ENOUGH_SEEDS:
            longest = max(result.seconds for arm in (one.baseline, one.elmo) for result in arm.results)
            few[f"{one.task} on {escape_markdown(one.data)} ({runs}; a run took up to {longest / 60:.0f} minutes)"] = (
                None
            )
    return f"Fewer than {ENOUGH_SEEDS} seeds: {', '.join(few)}." if few else ""


def _main_rows(one: Comparison) -> list[list[str]]:
    rows: list[list[str]] = []
    for test_set in one.test_sets:
        points, relative = _gain(one.baseline, one.elmo, one.metric, test_set)
        paper = _paper(one, test_set)
        rows.append(
            [
                one.task,
                one.data,
                test_set or "none: dev",
                one.metric,
                one.elmo_name,
                _seeds(one),
                *_scores(one, one.metric, test_set),
                f"{points:+.2f}",
                ABSENT if relative is None else f"{relative:.1f} %",
                *_scores(one, one.metric, None),
                *([ABSENT] * 4 if paper is None else [paper.baseline, paper.elmo, paper.gain, f"{paper.relative:g} %"]),
            ]
        )
    return rows


def _seeds(one: Comparison) -> str:
    baseline, elmo = len(one.baseline.runs), len(one.elmo.runs)
    return str(baseline) if baseline == elmo else f"{baseline}, {elmo}"


def _paper(one: Comparison, test_set: str | None) -> PaperResult | None:
    """None for what the paper has no number of: other languages, sentiment of two classes, a development set."""
    known = (one.task, test_set) in DATA and (one.task != "sentiment" or one.baseline.runs[0].num_labels == 5)
    return PAPER[one.task] if known else None


def _gain(baseline: Arm, elmo: Arm, name: str, test_set: str | None) -> tuple[float, float | None]:
    before, after = baseline.score(name, test_set=test_set), elmo.score(name, test_set=test_set)
    assert before is not None and after is not None, "every result has its task's metric"
    return gain(before.mean, after.mean)


def _scores(one: Comparison, name: str, test_set: str | None) -> list[str]:
    return [_cell(arm.score(name, test_set=test_set), len(arm.runs)) for arm in (one.baseline, one.elmo)]


def _cell(statistic: Statistic | None, num_runs: int) -> str:
    """With the number of runs that have it, if not all do."""
    if statistic is None:
        return ABSENT
    deviation = "" if statistic.deviation is None else f" ± {statistic.deviation:.2f}"
    some = f" ({len(statistic.values)} of {num_runs})" if len(statistic.values) < num_runs else ""
    return f"{statistic.mean:.2f}{deviation}{some}"


def _data_list(comparisons: Sequence[Comparison]) -> str:
    lines: dict[str, None] = {}
    for one in comparisons:
        for test_set in one.test_sets:
            if _paper(one, test_set) is not None:
                lines[f"- {one.task}: {DATA[one.task, test_set or '']}"] = None
    return "\n".join(lines)


def _data_row(one: Comparison) -> tuple[str, ...]:
    run, counts = one.baseline.runs[0], one.baseline.runs[0].counts
    train = counts["train"]
    tests = {name.removeprefix("test "): part for name, part in counts.items() if name not in ("train", "dev")}
    settings = {name.split(".")[1]: run.common[name] for name in SIZE_SETTINGS if name in run.common}
    elmo = one.elmo.runs[0].elmo
    return (
        one.task,
        one.data,
        _size(train),
        f"{train.get('used', train['examples']):,}",
        _size(counts["dev"]),
        "; ".join(f"{name}: {_size(part)}" for name, part in tests.items()) or ABSENT,
        ", ".join(f"{name}={value}" for name, value in settings.items() if value is False or value) or ABSENT,
        run.common["inputs.word_vectors"] or ABSENT,
        f"{elmo['model']} ({elmo['fingerprint'][:8] if elmo['fingerprint'] else 'trained with the task'})",
    )


def _size(counts: Mapping[str, int]) -> str:
    left_out = [f"{number:,} {reason}" for reason, number in counts.items() if reason not in ("examples", "used")]
    return f"{counts['examples']:,}" + (f" (left out: {', '.join(left_out)})" if left_out else "")


def _other_rows(one: Comparison) -> list[list[str]]:
    rows: list[list[str]] = []
    for test_set in one.test_sets:
        for name in _score_names(one, test_set):
            tested = [ABSENT] * 3 if test_set is None else _scores_and_gain(one, name, test_set)
            names = [one.task, one.data, one.elmo_name, test_set or ABSENT, name]
            rows.append([*names, *tested, *_scores_and_gain(one, name, None)])
    return rows


def _score_names(one: Comparison, test_set: str | None) -> list[str]:
    found: dict[str, None] = {}
    for result in [*one.baseline.results, *one.elmo.results]:
        for scores in (result.test.get(test_set or "", {}), result.dev):
            found |= dict.fromkeys(scores)
    return [name for name in found if name != one.metric and not name.startswith(OF_ONE_LABEL)]


def _scores_and_gain(one: Comparison, name: str, test_set: str | None) -> list[str]:
    before, after = one.baseline.score(name, test_set=test_set), one.elmo.score(name, test_set=test_set)
    points = ABSENT if before is None or after is None else f"{after.mean - before.mean:+.2f}"
    return [*_scores(one, name, test_set), points]


def _run_rows(comparisons: Iterable[Comparison]) -> list[list[str]]:
    rows: dict[tuple[str, ...], None] = {}  # a baseline that two arms are compared with is one row
    for one in comparisons:
        for name, arm in (("none", one.baseline), (one.elmo_name, one.elmo)):
            seeds = ", ".join(str(run.seed) for run in arm.runs)
            epochs = ", ".join(str(result.best_epoch) for result in arm.results)
            processor = arm.median_processor_seconds
            times = (f"{arm.median_seconds:,.0f}", ABSENT if processor is None else f"{processor:,.0f}")
            machines = "; ".join(arm.machines) or "not recorded"
            rows[one.task, one.data, name, seeds, machines, *times, epochs] = None
    return [list(row) for row in rows]


def _mix_rows(one: Comparison) -> list[list[str]]:
    results = [result.mixes for result in one.elmo.results]
    rows: list[list[str]] = []
    for place in ("input", "output"):
        mixes: list[Mapping[str, Any]] = [mixes[place] for mixes in results if place in mixes]
        if mixes:
            weights = [mix["weights"] for mix in mixes if "weights" in mix]
            means = [f"{statistics.fmean(of_layer):.2f}" for of_layer in zip(*weights, strict=True)]
            gamma = statistics.fmean(mix["gamma"] for mix in mixes)
            rows.append([one.task, one.data, one.elmo_name, place, " ".join(means) or ABSENT, f"{gamma:.2f}"])
    return rows or [[one.task, one.data, one.elmo_name, ABSENT, "not recorded", ABSENT]]
