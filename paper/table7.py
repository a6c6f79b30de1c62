"""Table 7: perplexity of the biLM on each task's text before and after one epoch of fine-tuning, and what it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.formats.model_name import with_fingerprint
from elmokit.metrics.statistic import Statistic
from paper.epochs_table import NO_ELMO, epochs_table
from paper.families import dev_score, families, gain_text, read_task_runs
from paper.planned_runs import PlannedModel
from paper.printed import FINE_TUNING, TABLE_7
from paper.reproduction import OurRow, OurTable, Reproduction, distinct_rows, printed_table
from paper.results import read_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.files.json_fields import Fields
    from paper.comparisons import Arm
    from paper.families import Family
    from paper.planned_runs import PlannedRun, Setup

NAME = "table7"
ROWS = {
    ("entailment", ""): "SNLI",
    ("semantic-roles", ""): "CoNLL 2012 (coref/SRL)",
    ("named-entities", ""): "CoNLL 2003 (NER)",
    ("question-answering", "contexts"): "SQuAD, contexts",
    ("question-answering", "questions"): "SQuAD, questions",
    ("sentiment", ""): "SST",
}
"""The paper's rows by task and part of its text; ours of semantic roles is the English Web Treebank."""
TASKS = tuple(dict.fromkeys(task for task, _ in ROWS))
VARY = ("inputs.elmo.model", "inputs.elmo.fingerprint")


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs with the biLM as it is, and with the one that is fine-tuned on the task's text."""
    runs: list[PlannedRun] = []
    for task in TASKS:
        model = PlannedModel("finetuned", setup.model, setup.fingerprint, task, setup.data(task))
        runs += [*setup.runs(task, "elmo=none"), *setup.runs(task), *setup.runs(task, model=model)]
    return runs


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """A row for each text that was measured."""
    rows: list[OurRow] = []
    for fields in read_results(paths, NAME):
        row = row_of(fields)
        words = f"{fields.text('data')}, {_model_of(fields)}"
        perplexities = (fields.fields(when).number("mean") for when in ("before", "after"))
        rows.append(OurRow(row, words, tuple(Statistic((value,)) for value in perplexities)))
    return rows


def details(paths: Sequence[Path]) -> list[OurTable]:
    """Both directions, and the scores of the tasks with either biLM."""
    directions = distinct_rows(
        (f"{row_of(fields)}: {fields.text('data')}, {_model_of(fields)}", _directions(fields))
        for fields in read_results(paths, NAME)
    )
    scores: list[tuple[str, tuple[str | None, ...]]] = []
    named: list[tuple[Family, list[tuple[str, Arm | None]]]] = []
    for family in families(read_task_runs(paths), VARY):
        none = family.baselines.get(())
        for as_it_is, tuned in tuned_pairs(family):
            cells = [dev_score(arm, family.metric) for arm in (none, as_it_is, tuned)]
            texts = [None if cell is None else str(cell) for cell in cells]
            run = as_it_is.runs[0]
            where = ", ".join(
                (run.data, f"{run.num_used:,} training examples", run.model, *family.unusual, *family.unconverged)
            )
            named.append((family, [(NO_ELMO, none), ("not fine-tuned", as_it_is), ("fine-tuned", tuned)]))
            scores.append((f"{family.row}: {where}", (*texts, gain_text(as_it_is, tuned, family.metric))))
    return [
        OurTable(
            "Directions",
            "Perplexity with the full softmax over the biLM's own vocabulary, each sentence by itself.",
            ("forward: before", "after", "backward: before", "after"),
            directions,
        ),
        OurTable(
            "Scores with either biLM",
            "On the development set; the gain is paired by seed, with its 95 % interval.",
            (NO_ELMO, "not fine-tuned", "fine-tuned", "gain of fine-tuning"),
            distinct_rows(scores),
        ),
        epochs_table(named),
        *([printed_table(FINE_TUNING)] if scores else []),
    ]


def row_of(fields: Fields) -> str:
    """The paper's row for a record of perplexities. Raises ValueError, naming the file, for a text it does not have."""
    key = fields.text("task"), fields.text("part")
    if key not in ROWS:
        raise fields.error("task", f"and part are {key}, which table 7 does not have")
    return ROWS[key]


def tuned_pairs(family: Family) -> list[tuple[Arm, Arm]]:
    """The arms with a biLM as it is and with one that was fine-tuned from it: at most one pair, of the last models."""
    tuned = [arm for values, arm in family.arms.items() if values[0].startswith("finetuned-")]
    as_it_is = [arm for values, arm in family.arms.items() if not values[0].startswith(("finetuned-", "random-"))]
    return [(as_it_is[-1], tuned[-1])] if tuned and as_it_is else []


def _model_of(fields: Fields) -> str:
    return with_fingerprint(fields.text("model"), fields.text("fingerprint"))


def _directions(fields: Fields) -> tuple[str, ...]:
    return tuple(
        f"{fields.fields(when).number(direction):.1f}"
        for direction in ("forward", "backward")
        for when in ("before", "after")
    )


REPRODUCTION = Reproduction(
    name=NAME,
    paper=TABLE_7,
    reads="perplexities that `python -m paper table7` has measured, and runs of `elmokit train` with either biLM",
    measure=our_rows,
    details=details,
    plan=plan,
)
