"""Table 6: parts of speech by softmax regression on each layer, on English and Korean text that is free to use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from elmokit.tasks.named_entities.reader import TaggedSentence
from paper.data_folders import data_folder
from paper.printed import TABLE_6
from paper.probes.tag_probe import FORM, UPOS, XPOS, probe_tags, read_tagged
from paper.reproduction import OurRow, Request
from paper.systems import (
    KOREAN_SYSTEMS,
    Measured,
    System,
    SystemResult,
    SystemTable,
    as_hits,
    english_systems,
    measure_systems,
)
from paper.table5 import papers_row

ENGLISH, KOREAN = "table6", "table6-ko"


@dataclass(frozen=True)
class Corpus:
    """A tagged corpus in three files: training, development and test data."""

    name: str
    folder: str
    files: tuple[str, str, str]
    columns: tuple[int, int]
    """Of tokens and tags, from 0."""


_EWT = ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")
_GSD = ("train.conllu", "dev.conllu", "test.conllu")
CORPORA = {
    ENGLISH: (
        Corpus("PTB sample", "tasks/pos_ptb_sample", ("train.tsv", "dev.tsv", "test.tsv"), (0, 1)),
        Corpus("EWT, PTB tags", "tasks/pos_ud_ewt", _EWT, (FORM, XPOS)),
        Corpus("EWT, UPOS", "tasks/pos_ud_ewt", _EWT, (FORM, UPOS)),
    ),
    KOREAN: (
        Corpus("Korean GSD, UPOS", "ko/tasks/ud_gsd", _GSD, (FORM, UPOS)),
        Corpus("Korean GSD, morphemes", "ko/tasks/ud_gsd", _GSD, (FORM, XPOS)),
    ),
}
"""The last one has the tags of an eojeol's morphemes together, such as NNG+JKB: do lower layers know morphology?"""


def compute(request: Request, *, name: str) -> None:
    """Probe each system on each corpus."""
    for corpus in CORPORA[name]:
        folder = data_folder(request.data_dir, corpus.folder)
        parts = [read_tagged(folder / file, columns=corpus.columns) for file in corpus.files]
        counts = ", ".join(f"{sum(len(each.tokens) for each in part):,}" for part in parts)
        measure_systems(
            name,
            request,
            partial(_measure, parts=parts, corpus=corpus.name),
            default=english_systems(request.data_dir) if name == ENGLISH else KOREAN_SYSTEMS,
            data=f"{corpus.name}: {counts} tokens",
        )


def _measure(system: System, *, parts: list[list[TaggedSentence]], corpus: str) -> Measured:
    found = probe_tags(system.layers, parts)
    return Measured(
        {row: {f"{corpus}, dev": score.dev, corpus: score.test} for row, score in found.items()},
        {row: as_hits(score.hits) for row, score in found.items()},
    )


def _row(result: SystemResult, row: str) -> OurRow | None:
    """The rows that the paper has, too, for each corpus: accuracy on its test set."""
    paper, on = papers_row(result, row), f"{result.label}, {result.corpus}"
    return OurRow(paper, on, (result.cell(row, result.corpus),)) if paper else None


TABLE = SystemTable(
    name=ENGLISH,
    paper=TABLE_6,
    compute=partial(compute, name=ENGLISH),
    row=_row,
    about="Accuracy in percent, on development and test data. The weights are those of the best of 8 epochs, seed 0.",
    pairs=(("layer 2", "layer 1"), ("layer 0", "layer 1")),
    differences="test set, in points.",
)
_OF_GSD = replace(TABLE_6, name="Table 6, Korean", section="", about="UD's Korean GSD: accuracy in percent.", rows={})
KOREAN_TABLE = replace(TABLE, name=KOREAN, paper=_OF_GSD, compute=partial(compute, name=KOREAN))
