"""Table 5: word senses by the nearest mean of SemCor's vectors, for each layer of each system."""

from __future__ import annotations

from pathlib import Path

from elmokit.metrics.score import Score
from paper.data_folders import data_folder
from paper.printed import TABLE_5
from paper.probes.disambiguation import Answers, disambiguate, first_senses
from paper.probes.sense_corpora import POS, Instance, SenseCorpus, Senses, read_inventory, read_sense_corpus
from paper.probes.targets import AVERAGE, EQUAL_SIZE, UPPER_AVERAGE
from paper.reproduction import OurRow, Request
from paper.systems import Measured, SystemResult, SystemTable, as_hits, english_systems, measure_systems

NAME = "table5"
SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
PAPERS_SETS = ("senseval2", "senseval3", "semeval2013", "semeval2015")
FOUR, ALL = "four sets", "ALL"
FIRST_SENSE = "WordNet 1st sense"
BILM_ROWS = {"layer 1": "biLM, first layer", "layer 2": "biLM, second layer"}
COVE_ROWS = {"layer 0": "CoVe, first layer", "layer 1": "CoVe, second layer"}
"""Rows of the paper by our names of the layers: a biLM has its token layer before them."""
TOP_LAYER_OVER_OTHERS = (
    ("layer 1", "layer 2"),
    (AVERAGE, "layer 2"),
    (UPPER_AVERAGE, "layer 2"),
    (EQUAL_SIZE, "layer 2"),
)


def read_semcor(data_dir: Path) -> SenseCorpus:
    """SemCor, in the form of the evaluation framework."""
    folder = data_folder(data_dir, "tasks/wsd_raganato") / "Training_Corpora" / "SemCor"
    return read_sense_corpus(folder / "semcor.data.xml", folder / "semcor.gold.key.txt")


def read_test_sets(data_dir: Path) -> SenseCorpus:
    """The five test sets of the evaluation framework, one after the other."""
    folder = data_folder(data_dir, "tasks/wsd_raganato") / "Evaluation_Datasets" / "ALL"
    return read_sense_corpus(folder / "ALL.data.xml", folder / "ALL.gold.key.txt")


def read_wordnet(data_dir: Path) -> Senses:
    return read_inventory(data_folder(data_dir, "tasks/wordnet30") / "index.sense")


def compute(request: Request) -> None:
    """Disambiguate the five test sets with each system."""
    asked, inventory = read_test_sets(request.data_dir), read_wordnet(request.data_dir)
    known = read_semcor(request.data_dir)

    def measure(answers: dict[str, Answers]) -> Measured:
        rows = {row: scores(asked, of_row) for row, of_row in answers.items()}
        hits = {
            row: as_hits(of_row.get(each.name) in each.senses for each in asked.instances)
            for row, of_row in answers.items()
        }
        return Measured(rows, hits)

    measure_systems(
        NAME,
        request,
        lambda system: measure(disambiguate(system.layers, known=known, asked=asked, inventory=inventory)),
        default=english_systems(request.data_dir),
        data=f"SemCor 3.0, {len(known.instances):,} instances; ALL, {len(asked.instances):,} instances",
        without_vectors=lambda: measure({FIRST_SENSE: first_senses(asked, inventory)}),
    )


def scores(asked: SenseCorpus, answers: Answers) -> dict[str, float]:
    """F1 in percent over the paper's four sets together, all five, each set, and each part of speech of all five."""

    def f1(group: list[Instance]) -> float:
        """As the Scorer of the evaluation framework counts answers of one key: without one, only recall falls."""
        correct = sum(answers.get(each.name) in each.senses for each in group)
        predicted = sum(each.name in answers for each in group)
        return Score.of_matches(correct=correct, predicted=predicted, gold=len(group)).f1

    of_set = {name: [each for each in asked.instances if each.name.startswith(f"{name}.")] for name in SETS}
    of_pos = {pos: [each for each in asked.instances if each.pos == pos] for pos in POS}
    of_four = [each for part in PAPERS_SETS for each in of_set[part]]
    groups = {FOUR: of_four, ALL: asked.instances, **of_set, **of_pos}
    return {name: f1(group) for name, group in groups.items() if group}


def _row(result: SystemResult, row: str) -> OurRow | None:
    """The rows that the paper has, too: F1 over its four sets."""
    name = FIRST_SENSE if row == FIRST_SENSE else papers_row(result, row)
    return OurRow(name, result.label, (result.cell(row, FOUR),)) if name else None


def papers_row(result: SystemResult, row: str) -> str | None:
    """The row of the paper's tables 5 and 6 for a layer of a trained biLM or of CoVe; None for all else."""
    if result.is_bilm:
        return BILM_ROWS.get(row)
    return COVE_ROWS.get(row) if result.system.startswith("cove, ") else None


TABLE = SystemTable(
    name=NAME,
    paper=TABLE_5,
    compute=compute,
    row=_row,
    title="By test set and part of speech",
    about="F1 in percent. A word that SemCor lacks gets its first sense in WordNet. Layer 0 and word vectors know only "
    "the form of the word.",
    pairs=TOP_LAYER_OVER_OTHERS,
    differences="ALL, in points of F1.",
)
