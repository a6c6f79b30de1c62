"""Table 6: parts of speech by softmax regression on each layer, on English and Korean text that is free to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.metrics.statistics import Statistic
from paper.data_folders import data_folder, glove_file
from paper.printed import TABLE_6
from paper.probes.tag_probe import TaggedSplits, probe_tags
from paper.probes.tagged_text import UPOS, XPOS, read_conllu, read_tagged
from paper.reproduction import OurRow, Reproduction, Request
from paper.system_results import (
    Measured,
    details_table,
    differences_table,
    measure_systems,
    read_system_results,
)
from paper.table5 import papers_row

if TYPE_CHECKING:
    from paper.printed import PaperTable
    from paper.probes.tagged_text import TaggedSentence
    from paper.reproduction import OurTable
    from paper.runs import Evidence
    from paper.systems import System

ENGLISH, KOREAN = "table6", "table6-ko"
_PAIRS = (("layer 2", "layer 1"), ("layer 0", "layer 1"))


@dataclass(frozen=True)
class Corpus:
    """A tagged corpus in three files."""

    name: str
    folder: str
    files: tuple[str, str, str]
    read: Callable[[Path], list[TaggedSentence]]


_EWT = ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")
_GSD = ("train.conllu", "dev.conllu", "test.conllu")
CORPORA = {
    ENGLISH: (
        Corpus("PTB sample", "tasks/pos_ptb_sample", ("train.tsv", "dev.tsv", "test.tsv"), read_tagged),
        Corpus("EWT, PTB tags", "tasks/pos_ud_ewt", _EWT, partial(read_conllu, column=XPOS)),
        Corpus("EWT, UPOS", "tasks/pos_ud_ewt", _EWT, partial(read_conllu, column=UPOS)),
    ),
    KOREAN: (
        Corpus("Korean GSD, UPOS", "ko/tasks/ud_gsd", _GSD, partial(read_conllu, column=UPOS)),
        Corpus("Korean GSD, morphemes", "ko/tasks/ud_gsd", _GSD, partial(read_conllu, column=XPOS)),
    ),
}
"""The last one has the tags of an eojeol's morphemes together, such as NNG+JKB: do lower layers know morphology?"""


def compute(request: Request, *, name: str) -> list[Path]:
    """Probe each system on each corpus."""
    paths: list[Path] = []
    for corpus in CORPORA[name]:
        folder = data_folder(request.data_dir, corpus.folder)
        train, dev, test = (corpus.read(folder / file) for file in corpus.files)
        counts = ", ".join(f"{sum(len(each.tokens) for each in part):,}" for part in (train, dev, test))
        english = ("mini-en", "random:mini-en", f"static:{glove_file(request.data_dir)}")
        paths = measure_systems(
            name,
            request,
            partial(_measure, splits=TaggedSplits(train, dev, test), corpus=corpus.name),
            default=english if name == ENGLISH else ("mini-ko", "random:mini-ko"),
            data=f"{corpus.name}: {counts} tokens",
        )
    return paths


def _measure(system: System, *, splits: TaggedSplits, corpus: str) -> Measured:
    found = probe_tags(system.layers, splits)
    return Measured(
        {row: {f"{corpus}, dev": score.dev, corpus: score.test} for row, score in found.items()},
        {row: "".join("1" if hit else "0" for hit in score.hits) for row, score in found.items()},
    )


def our_rows(evidence: Evidence, *, name: str) -> list[OurRow]:
    """The rows that the paper has, too, for each corpus: accuracy on its test set. `details` has everything."""
    rows: list[OurRow] = []
    for result in read_system_results(evidence.results, name):
        corpus = result.data.partition(":")[0]
        for row, numbers in result.measured.rows.items():
            paper = papers_row(result, row)
            if paper is not None:
                cells = (Statistic((numbers[corpus],)),)
                rows.append(OurRow(paper, f"{result.label}, {corpus}", cells, is_extra=name == KOREAN))
    return rows


def details(evidence: Evidence, *, name: str) -> list[OurTable]:
    """How the first LSTM layer compares with the second and with the token representation."""
    results = read_system_results(evidence.results, name)
    about = "Accuracy in percent, on development and test data. The weights are those of the best of 8 epochs, seed 0."
    tables: list[OurTable] = []
    for data in dict.fromkeys(result.data for result in results):
        of_corpus = [result for result in results if result.data == data]
        corpus = data.partition(":")[0]
        tables.append(details_table(of_corpus, title=corpus, about=about))
        tables.append(differences_table(of_corpus, _PAIRS, about=f"{corpus}, test set, in points."))
    return tables


def _reproduction(name: str, paper: PaperTable) -> Reproduction:
    return Reproduction(
        name=name,
        paper=paper,
        measure=partial(our_rows, name=name),
        details=partial(details, name=name),
        compute=partial(compute, name=name),
    )


REPRODUCTION = _reproduction(ENGLISH, TABLE_6)
KOREAN_REPRODUCTION = _reproduction(
    KOREAN,
    replace(TABLE_6, name="Table 6, Korean", section="", about="UD's Korean GSD: accuracy in percent.", rows={}),
)
