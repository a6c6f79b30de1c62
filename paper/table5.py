"""Table 5: word senses by the nearest mean of SemCor's vectors, for each layer of each system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.metrics.statistics import Statistic
from paper.data_folders import data_folder, glove_file
from paper.printed import TABLE_5
from paper.probes.disambiguation import disambiguate, first_senses
from paper.probes.layer_mixes import AVERAGE, EQUAL_SIZE, UPPER_AVERAGE
from paper.probes.sense_corpora import POS, SenseCorpus, read_sense_corpus
from paper.probes.sense_scores import correct_share, score_senses
from paper.probes.wordnet import read_inventory
from paper.reproduction import OurRow, Reproduction
from paper.system_results import (
    Measured,
    details_table,
    differences_table,
    measure_systems,
    read_system_results,
)

if TYPE_CHECKING:
    from paper.probes.disambiguation import Answers
    from paper.probes.wordnet import SenseInventory
    from paper.reproduction import OurTable, Request
    from paper.runs import Evidence
    from paper.system_results import SystemResult

NAME = "table5"
SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
PAPERS_SETS = ("senseval2", "senseval3", "semeval2013", "semeval2015")
FOUR, ALL = "four sets", "ALL"
FIRST_SENSE = "WordNet 1st sense"
BILM_ROWS = {"layer 1": "biLM, first layer", "layer 2": "biLM, second layer"}
COVE_ROWS = {"layer 0": "CoVe, first layer", "layer 1": "CoVe, second layer"}
"""Rows of the paper by our names of the layers: a biLM has its token layer before them."""
_PAIRS = (("layer 1", "layer 2"), (AVERAGE, "layer 2"), (UPPER_AVERAGE, "layer 2"), (EQUAL_SIZE, "layer 2"))


def read_semcor(data_dir: Path) -> SenseCorpus:
    """SemCor, in the form of the evaluation framework."""
    folder = data_folder(data_dir, "tasks/wsd_raganato") / "Training_Corpora" / "SemCor"
    return read_sense_corpus(folder / "semcor.data.xml", folder / "semcor.gold.key.txt")


def read_test_sets(data_dir: Path) -> SenseCorpus:
    """The five test sets of the evaluation framework, one after the other."""
    folder = data_folder(data_dir, "tasks/wsd_raganato") / "Evaluation_Datasets" / "ALL"
    return read_sense_corpus(folder / "ALL.data.xml", folder / "ALL.gold.key.txt")


def read_wordnet(data_dir: Path) -> SenseInventory:
    """The senses of WordNet 3.0."""
    return read_inventory(data_folder(data_dir, "tasks/wordnet30") / "index.sense")


def compute(request: Request) -> list[Path]:
    """Disambiguate the five test sets with each system."""
    asked, inventory = read_test_sets(request.data_dir), read_wordnet(request.data_dir)
    known = read_semcor(request.data_dir)

    def measure(answers: dict[str, Answers]) -> Measured:
        rows = {row: scores(asked, of_row) for row, of_row in answers.items()}
        return Measured(rows, {row: _hits(asked, of_row) for row, of_row in answers.items()})

    return measure_systems(
        NAME,
        request,
        lambda system: measure(disambiguate(system.layers, known=known, asked=asked, inventory=inventory)),
        default=("mini-en", "random:mini-en", f"static:{glove_file(request.data_dir)}"),
        data=f"SemCor 3.0, {len(known.instances):,} instances; ALL, {len(asked.instances):,} instances",
        without_vectors=lambda: measure({FIRST_SENSE: first_senses(asked, inventory)}),
    )


def scores(asked: SenseCorpus, answers: Answers) -> dict[str, float]:
    """F1 in percent over the paper's four sets together, all five, each set, and each part of speech of all five."""

    def f1(names: list[str]) -> float:
        gold = {name: asked.keys[name] for name in names}
        return score_senses(gold, {name: [answers[name]] for name in names if name in answers}).f1

    of_set = {name: [each.name for each in asked.instances if each.name.startswith(f"{name}.")] for name in SETS}
    of_pos = {pos: [each.name for each in asked.instances if each.pos == pos] for pos in POS}
    groups = {
        FOUR: [name for part in PAPERS_SETS for name in of_set[part]],
        ALL: [each.name for each in asked.instances],
        **of_set,
        **of_pos,
    }
    return {group: f1(names) for group, names in groups.items() if names}


def _hits(asked: SenseCorpus, answers: Answers) -> str:
    """An answer is one key, which is right or not."""
    return "".join(
        "1" if each.name in answers and correct_share(asked.keys[each.name], [answers[each.name]]) else "0"
        for each in asked.instances
    )


def our_rows(evidence: Evidence) -> list[OurRow]:
    """The rows that the paper has, too: F1 over its four sets. `details` has all layers, mixes and systems."""
    rows: list[OurRow] = []
    for result in read_system_results(evidence.results, NAME):
        for row, numbers in result.measured.rows.items():
            name = FIRST_SENSE if row == FIRST_SENSE else papers_row(result, row)
            if name is not None:
                rows.append(OurRow(name, result.label, (Statistic((numbers[FOUR],)),)))
    return rows


def papers_row(result: SystemResult, row: str) -> str | None:
    """The row of the paper's tables 5 and 6 for a layer of a trained biLM or of CoVe; None for all else."""
    if result.is_bilm:
        return BILM_ROWS.get(row)
    return COVE_ROWS.get(row) if result.system.startswith("cove, ") else None


def details(evidence: Evidence) -> list[OurTable]:
    """All numbers of every system, and how the top layer compares with the others."""
    results = read_system_results(evidence.results, NAME)
    about = (
        "F1 in percent. A word that SemCor lacks gets its first sense in WordNet. Layer 0 and word vectors know only "
        "the form of the word."
    )
    return [
        details_table(results, title="By test set and part of speech", about=about),
        differences_table(results, _PAIRS, about="ALL, in points of F1."),
    ]


REPRODUCTION = Reproduction(
    name=NAME,
    paper=TABLE_5,
    measure=our_rows,
    details=details,
    compute=compute,
)
