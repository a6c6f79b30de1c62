"""Table 1: six tasks without ELMo and with it, on their test sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.metrics.statistic import Statistic
from elmokit.runs.logged_runs import read_runs
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.task_runs import is_task_run, read_task_run, unusual_settings
from paper.comparisons import ADD_TEST_SCORES, comparisons_among, gain
from paper.families import (
    ELMO,
    dev_score,
    families,
    gain_text,
    is_usual,
    read_task_runs,
    usual_runs,
    with_runs,
)
from paper.item_records import NAME, interval_of, item_records, names_of
from paper.planned_runs import PlannedModel
from paper.printed import ENSEMBLES, TABLE_1
from paper.reproduction import OurRow, OurTable, Reproduction, distinct_rows
from paper.scales import AT_OUTPUT, CONVERGED, TASK_DATA
from paper.squad_articles import squad_articles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.files.json_fields import Fields
    from paper.comparisons import Comparison
    from paper.planned_runs import PlannedRun, Setup

VARY = tuple(f"{ELMO}{name}" for name in ("model", "fingerprint", "layers"))
CONTROLS = ("random biLM", "token layer alone", "ELMo")


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


def plan(setup: Setup) -> list[PlannedRun]:
    """Every task without ELMo and with it, a random biLM and the token layer alone; test files are scored.

    At a scale that compares converged runs, the first two once more until the development score stops improving, and
    ELMo and the random biLM at the output, for tasks with a recipe of that.
    """
    random = PlannedModel("random", setup.model, setup.fingerprint)
    runs: list[PlannedRun] = []
    for task in TASK_DATA:
        for arm in (("elmo=none",), (), ("elmo.layers=0",)):
            runs += setup.runs(task, *arm, tests=True)
        runs += setup.runs(task, model=random, tests=True)
        recipes = find_task(task).recipes if setup.scale.compares_converged else ()
        if CONVERGED in recipes:
            for arm in (("elmo=none",), ()):
                runs += setup.runs(task, *arm, recipe=CONVERGED, tests=True)
        if AT_OUTPUT in recipes:
            for model in (None, random):
                runs += setup.runs(task, model=model, recipe=AT_OUTPUT, tests=True)
    return runs


def largest_comparisons(paths: Sequence[Path]) -> dict[str, Comparison]:
    """For each task with a row in the paper's table, the comparison of the highest rank, if it is of a recipe's model.

    Of equals it is the one whose biLM comes last among the runs given, which is the newer one, and then the one that is
    better with ELMo on the development set.
    """
    logged = usual_runs(read_runs(with_runs(paths)))
    place = {read_task_run(run).model: number for number, run in enumerate(logged)}
    found = [one for one in comparisons_among(logged).comparisons if not unusual_settings(one.baseline.runs[0])]
    chosen: dict[str, Comparison] = {}
    for one in sorted(found, key=lambda one: (one.rank, place[one.elmo.runs[0].model], one.dev_mean)):
        if any(counterpart(one, test_set) for test_set in one.test_sets):
            chosen[one.task] = one
    return {task: chosen[task] for task in TASK_DATA if task in chosen}


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """One row per comparison that has a counterpart, from the runs with ELMo as in the recipe.

    Those with the most training examples come first. Both arms count with the seeds of which both have a test score. A
    comparison of runs without test scores is a row without numbers, which says so, unless others of its task have some.
    """
    rows: list[OurRow] = []
    comparisons = _usual_comparisons(paths)
    for paper, paired, test_set in _tested(comparisons):
        baseline = paired.baseline.score(paired.metric, test_set=test_set)
        elmo = paired.elmo.score(paired.metric, test_set=test_set)
        if baseline is not None and elmo is not None:
            points, relative = gain(baseline.mean, elmo.mean)
            gains = (Statistic((points,)), None if relative is None else Statistic((relative,)))
            where = paired.measured_on(with_seeds=True)
            rows.append(OurRow(paper.row, where, (None, None, baseline, elmo, *gains)))
    measured = {row.row for row in rows}
    return rows + [row for one in comparisons for row in _without_numbers(one) if row.row not in measured]


def _usual_comparisons(paths: Sequence[Path]) -> list[Comparison]:
    """The comparisons of runs with ELMo as in a recipe, those with the most training examples first."""
    comparisons = comparisons_among(usual_runs(read_runs(with_runs(paths)))).comparisons
    return sorted(comparisons, key=lambda one: -one.elmo.runs[0].num_used)


def _tested(comparisons: Sequence[Comparison]) -> list[tuple[Counterpart, Comparison, str]]:
    """Each comparison on each test set that has a counterpart, with the seeds of which both arms have a score of it."""
    return [
        (paper, comparison.paired(test_set), test_set)
        for comparison in comparisons
        for test_set in comparison.test_sets
        if test_set is not None and (paper := counterpart(comparison, test_set)) is not None
    ]


def _without_numbers(comparison: Comparison) -> list[OurRow]:
    """The rows that the comparison would have if both arms had scores of their test files."""
    names = [path.name for path in comparison.baseline.runs[0].record.splits.test]
    papers = [counterpart(comparison, name) for name in names if name not in comparison.test_sets]
    where = f"{comparison.measured_on(with_seeds=True)}: runs without test scores ({ADD_TEST_SCORES})"
    return [OurRow(paper.row, where, (None,) * len(TABLE_1.columns)) for paper in papers if paper is not None]


def details(paths: Sequence[Path]) -> list[OurTable]:
    """Intervals of the gains, SQuAD's articles, ensembles, controls without pretraining, and other systems' vectors."""
    return [_intervals(paths), squad_articles(paths), _ensembles(paths), _controls(paths), _other_systems(paths)]


def _intervals(paths: Sequence[Path]) -> OurTable:
    records = item_records(paths)
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    for paper, paired, test_set in _tested(_usual_comparisons(paths)):
        fields = records.pop(names_of(paired, test_set), None)
        if len(paired.elmo.runs) > 1 or fields is not None:
            over_items = None if fields is None else str(interval_of(fields))
            over_seeds = gain_text(paired.baseline, paired.elmo, paired.metric, test_set=test_set)
            rows.append((_row_name(paper, paired), (over_items, over_seeds)))
    rows += [(_measured_on(fields), (str(interval_of(fields)), None)) for fields in records.values()]
    about = (
        "Gain on the test set in points, with two 95 % intervals: over the test items, of the models that were trained "
        "(paired bootstrap), and over the seeds, on these items (Student's t, paired)."
    )
    return OurTable("Intervals of the gains", about, ("over test items", "over seeds"), distinct_rows(rows))


def _ensembles(paths: Sequence[Path]) -> OurTable:
    tested = _tested(_usual_comparisons(paths))
    named = {names_of(paired, test_set): _row_name(paper, paired) for paper, paired, test_set in tested}
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    for names, fields in item_records(paths).items():
        ensembles = fields.fields("ensembles")
        if ensembles.names:
            metric = find_task(fields.text("task")).metric
            members = str(len(fields.texts("elmo")))
            scores = (f"{ensembles.fields(arm).number(metric):.2f}" for arm in ("baseline", "elmo"))
            rows.append((named.get(names) or _measured_on(fields), (members, *scores)))
    if rows:
        for row in ENSEMBLES.rows:
            cells = ENSEMBLES.cell(row, "models").text, None, ENSEMBLES.cell(row, "score").text
            rows.append((f"{row}: paper", cells))
    about = "Test scores of the mean of the models' probabilities."
    return OurTable("Ensembles", about, ("models", "no ELMo", "+ ELMo"), distinct_rows(rows))


def _row_name(paper: Counterpart, paired: Comparison) -> str:
    return f"{paper.row}: {paired.measured_on(with_seeds=True)}"


def _measured_on(fields: Fields) -> str:
    """The name of a row for a record of runs that are not among those given."""
    task = fields.text("task")
    if task not in TASK_DATA:
        raise fields.error("task", f"is {task}; expected one of {', '.join(TASK_DATA)}")
    runs = ", ".join(fields.texts("elmo"))
    return f"{TASK_DATA[task].row}: {fields.text('test_set')}, {fields.text('model')}, {runs}"


def _controls(paths: Sequence[Path]) -> OurTable:
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    for family in families(read_task_runs(paths), VARY):
        none = family.baselines.get(())
        arms = {_control(values): arm for values, arm in family.arms.items()}
        if none is not None and "ELMo" in arms and len(set(CONTROLS) & set(arms)) > 1:
            gains = (gain_text(none, arms[name], family.metric) if name in arms else None for name in CONTROLS)
            run = arms["ELMo"].runs[0]
            where = ", ".join(
                (run.data, f"{run.num_used:,} training examples", run.model, *family.unusual, *family.unconverged)
            )
            rows.append((f"{family.row}: {where}", (str(dev_score(none, family.metric)), *gains)))
    about = "Development set: the score without ELMo, and the gain over it, paired by seed, with its 95 % interval."
    return OurTable("Controls", about, ("no ELMo", *CONTROLS), distinct_rows(rows))


def _control(values: tuple[str, ...]) -> str:
    """The control that an arm is: `values` are those of VARY."""
    model, _, layers = values
    if layers == "0":
        return "token layer alone"
    if model.startswith("random-"):
        return "random biLM"
    return "ELMo" if layers == "mix" and not model.startswith("finetuned-") else ""


def _other_systems(paths: Sequence[Path]) -> OurTable:
    rows: list[tuple[str, tuple[str | None, ...]]] = []
    logged = read_runs(with_runs(paths))
    of_others = [run for run in logged if is_task_run(run) and read_task_run(run).record.other_vectors]
    comparisons = comparisons_among([*usual_runs(logged), *of_others]).comparisons
    usual = [one for one in comparisons if is_usual(one.elmo.runs[0])]
    for other in [one for one in comparisons if one not in usual]:
        baseline, vectors, metric = other.baseline, other.elmo, other.metric
        elmo = next((one.elmo for one in reversed(usual) if _is_in_its_place(one, other)), None)
        for test_set in [name for name in other.test_sets if counterpart(other, name)]:
            found = (arm and arm.score(metric, test_set=test_set) for arm in (baseline, vectors, elmo))
            scores = (score and str(score) for score in found)
            pairs = ((baseline, vectors), (vectors, elmo))
            gains = (gain_text(*pair, metric, test_set=test_set) for pair in pairs)
            rows.append((f"{TASK_DATA[other.task].row}: {other.measured_on(with_seeds=True)}", (*scores, *gains)))
    about = (
        "Test set: the same task model with no vectors of sentences, with those of another system, and with ELMo at "
        "the same place. Gains are paired by seed, with their 95 % intervals."
    )
    columns = ("no ELMo", "the system", "ELMo", "system over none", "ELMo over system")
    return OurTable("Other systems in ELMo's place", about, columns, distinct_rows(rows))


def _is_in_its_place(elmo: Comparison, other: Comparison) -> bool:
    """Whether ELMo stands where the other system's vectors do, with the same settings."""
    left_out = ("model", "fingerprint")
    own, others = (
        {name: value for name, value in one.elmo.runs[0].elmo_settings.items() if name not in left_out}
        for one in (elmo, other)
    )
    return elmo.baseline == other.baseline and own == others


REPRODUCTION = Reproduction(
    name=NAME,
    paper=TABLE_1,
    reads="runs of `elmokit train`, with ELMo and without it",
    measure=our_rows,
    details=details,
    plan=plan,
)
