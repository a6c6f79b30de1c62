"""Table 1: six tasks without ELMo and with it, on their test sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.metrics.statistic import Statistic
from elmokit.reproduce.comparisons import ADD_TEST_SCORES, compare_runs, gain
from elmokit.reproduce.paper import TABLE_1
from elmokit.reproduce.reproduction import OurRow, Reproduction
from elmokit.runs.logged_runs import read_runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.reproduce.comparisons import Comparison


@dataclass(frozen=True)
class Counterpart:
    """The row of the table with which one of our test sets is compared."""

    row: str
    """Name of the row."""
    data: str
    """What our data are, and how they differ from the paper's."""


COUNTERPARTS = {
    ("question-answering", "dev-v1.1.json"): Counterpart(
        "SQuAD",
        "SQuAD 1.1. Its test set is not public: the paper's numbers are of the test set, ours of the public "
        "development set, and articles of the training file are set apart to develop on. The whole training set has "
        "87,599 questions.",
    ),
    ("entailment", "snli_1.0_test.jsonl"): Counterpart(
        "SNLI", "SNLI, with its own development and test set. The whole training set has 549,367 pairs."
    ),
    ("semantic-roles", "test.verbs.gold_conll"): Counterpart(
        "SRL",
        "PropBank on the English Web Treebank, verbs without auxiliaries, in place of OntoNotes, which is not free. "
        "Text and roles differ, so the scores are not those of CoNLL-2012.",
    ),
    ("semantic-roles", "test.gold_conll"): Counterpart(
        "SRL",
        "PropBank on the English Web Treebank, all predicates (verbs, nouns, adjectives), in place of OntoNotes, which "
        "is not free. The scores are not those of CoNLL-2012.",
    ),
    ("coreference", "test.gold_conll"): Counterpart(
        "Coref",
        "OntoGUM, which annotates GUM as OntoNotes is annotated, in place of OntoNotes itself, which is not free. The "
        "documents are others and fewer, so the scores are not those of CoNLL-2012.",
    ),
    ("named-entities", "eng.testb"): Counterpart(
        "NER", "CoNLL-2003, as in the paper. The paper's word vectors are Senna's."
    ),
    ("sentiment", "test.txt"): Counterpart(
        "SST-5", "The Stanford Sentiment Treebank, as in the paper, which trains on its phrases too."
    ),
}
"""The row of the paper for each task and test file."""


def counterpart(comparison: Comparison, test_set: str | None) -> Counterpart | None:
    """The paper's row for a test set; None for other languages, two classes of sentiment, and development sets."""
    if comparison.task == "sentiment" and len(comparison.baseline.runs[0].record.symbols) != 5:
        return None
    return COUNTERPARTS.get((comparison.task, test_set or ""))


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """One row per comparison that has a counterpart, from the runs that `read_runs` finds.

    A comparison of runs without test scores is a row without numbers, which says so.
    """
    rows: list[OurRow] = []
    for comparison in compare_runs(read_runs(paths)).comparisons:
        rows += _without_numbers(comparison)
        for test_set in comparison.test_sets:
            paper = counterpart(comparison, test_set)
            baseline = comparison.baseline.score(comparison.metric, test_set=test_set)
            elmo = comparison.elmo.score(comparison.metric, test_set=test_set)
            if paper is not None and baseline is not None and elmo is not None:
                points, relative = gain(baseline.mean, elmo.mean)
                gains = (Statistic((points,)), None if relative is None else Statistic((relative,)))
                where = f"{comparison.data}, ELMo at {comparison.elmo_name}, {len(elmo.values)} seeds"
                rows.append(OurRow(paper.row, where, (None, None, baseline, elmo, *gains)))
    return rows


def _without_numbers(comparison: Comparison) -> list[OurRow]:
    """The rows that the comparison would have if both arms had scores of their test files."""
    names = [path.name for path in comparison.baseline.runs[0].record.splits.test]
    papers = [counterpart(comparison, name) for name in names if name not in comparison.test_sets]
    where = f"{comparison.data}, ELMo at {comparison.elmo_name}: runs without test scores; {ADD_TEST_SCORES}"
    return [OurRow(paper.row, where, (None,) * len(TABLE_1.columns)) for paper in papers if paper is not None]


REPRODUCTION = Reproduction(
    name="table1", paper=TABLE_1, reads="runs of `elmokit train`, with ELMo and without it", measure=our_rows
)
