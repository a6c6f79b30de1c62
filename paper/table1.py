"""Table 1: six tasks without ELMo and with it, on their test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from elmokit.files.json_fields import Fields
from elmokit.formats.names import DEFAULT_MODEL
from elmokit.metrics.statistics import Statistic
from paper.ablation import Ablation
from paper.bootstrap import RunNames, item_record, item_records
from paper.differences import Difference, over_items, over_seeds
from paper.plan import AT_OUTPUT, CONVERGED, DATASETS, ELMO, MODEL, NO_ELMO, RANDOM, SIX_TASKS, Arm, PlannedRun, Setup
from paper.printed import ENSEMBLES, TABLE_1
from paper.reproduction import Cell, OurRow, OurTable, Reproduction
from paper.results import read_interval
from paper.runs import Evidence, Tested, gain_text, gains_by_seed, setups_by_model

NAME = "table1"


@dataclass(frozen=True)
class Pair:
    """Arms that differ in ELMo alone."""

    words: str
    """What tells it from the other pairs of its task."""
    none: Arm
    elmo: Arm
    tasks: tuple[str, ...] = SIX_TASKS
    model: str = MODEL
    """Its biLM, if the user names none."""


def _none(*settings: str, recipe: str = "") -> Arm:
    return Arm(NO_ELMO.name, (*NO_ELMO.settings, *settings), recipe)


UNTIL_CONVERGED = Pair("until converged", _none(recipe=CONVERGED), Arm(ELMO.name, recipe=CONVERGED))
PAIRS = (  # ELMo at the paper's position; the newer biLM first
    replace(UNTIL_CONVERGED, model=DEFAULT_MODEL),
    UNTIL_CONVERGED,
    Pair("fixed epochs", NO_ELMO, ELMO),
)
ELSEWHERE = Pair("at another position than the paper's", _none(recipe=CONVERGED), Arm(ELMO.name, recipe=AT_OUTPUT))
_NER, _SST = ("named-entities",), ("sentiment",)
OTHER_MODELS = (
    Pair("without characters", _none("character_dim=0"), Arm(ELMO.name, ("character_dim=0",)), _NER),
    Pair("TagLM: the top layer", NO_ELMO, Arm(ELMO.name, ("elmo=output", "elmo.layers=top")), _NER),
    Pair("a CNN", _none(recipe="cpu-cnn"), Arm(ELMO.name, recipe="cpu-cnn"), _SST),
    Pair(
        "a biLSTM",
        _none("classifier=bilstm", recipe=CONVERGED),
        Arm(ELMO.name, ("classifier=bilstm",), CONVERGED),
        _SST,
    ),
)
ALL_PAIRS = (*PAIRS, ELSEWHERE, *OTHER_MODELS)
CONTROLS = Ablation(
    name="controls",
    paper=TABLE_1,
    tasks=SIX_TASKS,
    arms=(NO_ELMO, Arm("random biLM", vectors=RANDOM), Arm("token layer alone", ("elmo.layers=0",)), ELMO),
)
CONTROLS_AT_OUTPUT = Ablation(
    name="controls at the output",
    paper=TABLE_1,
    tasks=SIX_TASKS,
    arms=(ELSEWHERE.none, Arm("random biLM", recipe=AT_OUTPUT, vectors=RANDOM), ELSEWHERE.elmo),
)
OTHER_SYSTEMS = Ablation(
    name="other systems in ELMo's place",
    paper=TABLE_1,
    tasks=("named-entities", "semantic-roles", "entailment"),
    arms=(NO_ELMO, ELMO, *(Arm(name, vectors=name) for name in ("CoVe", "MiniLM-L6"))),
    differences=(("CoVe", NO_ELMO.name), ("MiniLM-L6", NO_ELMO.name), (ELMO.name, "CoVe"), (ELMO.name, "MiniLM-L6")),
    tests=True,
)


def plan(setup: Setup) -> list[PlannedRun]:
    """The runs of all pairs, which score test files, and of the controls."""
    arms = ((own, task, arm) for task, pair, own in _with_setups(ALL_PAIRS, setup) for arm in (pair.none, pair.elmo))
    runs = [run for own, task, arm in arms for run in own.runs(task, arm, tests=True)]
    return [*runs, *(run for table in (CONTROLS, CONTROLS_AT_OUTPUT, OTHER_SYSTEMS) for run in table.plan(setup))]


def _with_setups(pairs: Sequence[Pair], setup: Setup) -> list[tuple[str, Pair, Setup]]:
    """The pairs of each task, with the setups of their biLMs."""
    setups = setups_by_model(setup, [pair.model for pair in pairs])
    own = [pair for pair in pairs if pair.model in setups]
    return [(task, pair, setups[pair.model]) for task in SIX_TASKS for pair in own if task in pair.tasks]


def tested(evidence: Evidence, pairs: Sequence[Pair] = ALL_PAIRS) -> list[Tested]:
    """The pairs that have been trained, by task in the order of the pairs, with the seeds that both arms have."""
    found: list[Tested] = []
    for task, pair, setup in _with_setups(pairs, evidence.setup):
        own = replace(evidence, setup=setup)
        arms = [runs for arm in (pair.none, pair.elmo) if (runs := own.arm(task, arm)) is not None]
        scored = [arm.by_seed(DATASETS[task].test_set).keys() for arm in arms]
        if len(arms) == 2 and (seeds := scored[0] & scored[1]):
            both = [replace(arm, runs=tuple(run for run in arm.runs if run.seed in seeds)) for arm in arms]
            found.append(Tested(task, pair.words, *both))
    return found


def headlines(evidence: Evidence) -> dict[str, Tested]:
    """By task, the pair that stands for it: the first of those with the most seeds."""
    found = tested(evidence, PAIRS)
    tasks = dict.fromkeys(one.task for one in found)
    return {task: max((one for one in found if one.task == task), key=lambda one: len(one.elmo.runs)) for task in tasks}


def our_rows(evidence: Evidence) -> list[OurRow]:
    """A row for each pair that has test scores."""
    rows: list[OurRow] = []
    for one in tested(evidence):
        none, elmo = one.none.score(one.test_set), one.elmo.score(one.test_set)
        assert none is not None and elmo is not None, "a pair has test scores"
        gains = Statistic((one.gain,)), Statistic((100 * one.gain / (100 - none.mean),))
        rows.append(OurRow(DATASETS[one.task].row, one.measured_on, (None, None, none, elmo, *gains)))
    return rows


def details(evidence: Evidence) -> list[OurTable]:
    """Intervals of the gains, ensembles, controls without pretraining, and other systems' vectors."""
    found = tested(evidence)
    records = item_records(evidence.results)
    data = {DATASETS[one.task].row: (DATASETS[one.task].about,) for one in found}
    others = (replace(table, title=f"Other systems: {table.title}") for table in OTHER_SYSTEMS.details(evidence))
    return [
        OurTable("Data", "What stands for the paper's data.", ("data",), data),
        _intervals(found, records),
        _ensembles(found, records),
        replace(CONTROLS.differences_table(evidence), title="Controls"),
        replace(CONTROLS_AT_OUTPUT.differences_table(evidence), title="Controls, ELMo at the output"),
        *others,
    ]


def _intervals(found: Sequence[Tested], records: Mapping[RunNames, Fields]) -> OurTable:
    rows: dict[str, tuple[Cell, ...]] = {}
    for one in found:
        over_items = str(read_interval(record)) if (record := item_record(one, records)) else None
        both = str(gain) if (gain := difference_on_test(one, records)) and gain.of_items else None
        seeds = gain_text(one.none, one.elmo, test_set=one.test_set)
        rows[f"{DATASETS[one.task].row}: {one.measured_on}"] = (over_items, seeds, both)
    about = (
        "Gain on the test set in points, with 95 % intervals: over the test items, of the models that were trained "
        "(paired bootstrap); over the seeds, on these items (Student's t, paired); and over both together, where the "
        "largest error over items of pairs with the same runs without ELMo stands for one that was not measured."
    )
    return OurTable("Intervals of the gains", about, ("over test items", "over seeds", "over both"), rows)


def difference_on_test(one: Tested, records: Mapping[RunNames, Fields]) -> Difference | None:
    """The gain over seeds and test items together; over seeds alone if no items were measured. None for one seed.

    The largest error over items of pairs with the same runs without ELMo stands for one that was not measured.
    """
    gain = over_seeds(list(gains_by_seed(one.none, one.elmo, test_set=one.test_set).values()))
    own = item_record(one, records)
    others = [record for names, record in records.items() if names[:2] == one.names[:2] and names != one.names]
    errors = [over_items(read_interval(record)).of_items for record in ([own] if own else others)]
    return gain and replace(gain, of_items=max(errors, default=0.0))


def _ensembles(found: Sequence[Tested], records: Mapping[RunNames, Fields]) -> OurTable:
    rows: dict[str, tuple[Cell, ...]] = {}
    for one in found:
        scores = record.fields("ensembles") if (record := item_record(one, records)) else None
        if scores is not None and scores.names:
            arms = (f"{scores.fields(arm).number(one.none.metric):.2f}" for arm in ("baseline", "elmo"))
            rows[f"{DATASETS[one.task].row}: {one.measured_on}"] = (str(len(one.elmo.runs)), *arms)
    if rows:
        rows |= {f"{row}: paper": (models, None, score) for row, (models, score) in ENSEMBLES.items()}
    about = "Test scores of the mean of the models' probabilities."
    return OurTable("Ensembles", about, ("models", "no ELMo", "+ ELMo"), rows)


REPRODUCTION = Reproduction(NAME, TABLE_1, our_rows, details, plan=plan)
