"""Table 6: parts of speech by softmax regression on each layer, on English and Korean text that is free to use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from elmokit.metrics.statistic import Statistic
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
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from paper.probes.tagged_text import TaggedSentence
    from paper.reproduction import OurTable
    from paper.systems import System

NAME = "table6"
_PAIRS = (("layer 2", "layer 1"), ("layer 0", "layer 1"))


@dataclass(frozen=True)
class Corpus:
    """A tagged corpus: its three files, and the language of the models that read it."""

    name: str
    folder: str
    files: tuple[str, str, str]
    read: Callable[[Path], list[TaggedSentence]]
    language: str


_EWT = ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")
_GSD = ("train.conllu", "dev.conllu", "test.conllu")
CORPORA = (
    Corpus("PTB sample", "tasks/pos_ptb_sample", ("train.tsv", "dev.tsv", "test.tsv"), read_tagged, "en"),
    Corpus("EWT, PTB tags", "tasks/pos_ud_ewt", _EWT, partial(read_conllu, column=XPOS), "en"),
    Corpus("EWT, UPOS", "tasks/pos_ud_ewt", _EWT, partial(read_conllu, column=UPOS), "en"),
    Corpus("Korean GSD, UPOS", "ko/tasks/ud_gsd", _GSD, partial(read_conllu, column=UPOS), "ko"),
    Corpus("Korean GSD, morphemes", "ko/tasks/ud_gsd", _GSD, partial(read_conllu, column=XPOS), "ko"),
)
"""The last one has the tags of an eojeol's morphemes together, such as NNG+JKB: do lower layers know morphology?"""
DEFAULTS = {"en": ("mini-en", "random:mini-en"), "ko": ("mini-ko", "random:mini-ko")}


def compute(request: Request) -> list[Path]:
    """Probe each system on each corpus of the language that it is for; a system that is named, on all of them.

    Raises ValueError if there is no corpus of the language that is asked for.
    """
    if request.language not in (None, *DEFAULTS):
        raise ValueError(f"language is {request.language!r}; the corpora are of {' and '.join(DEFAULTS)}")
    paths: list[Path] = []
    for corpus in CORPORA:
        if request.language not in (None, corpus.language):
            continue
        folder = data_folder(request.data_dir, corpus.folder)
        train, dev, test = (corpus.read(folder / file) for file in corpus.files)
        splits = TaggedSplits(train, dev, test)
        counts = ", ".join(f"{sum(len(each.tokens) for each in part):,}" for part in (train, dev, test))
        static = (f"static:{glove_file(request.data_dir)}",) if corpus.language == "en" else ()
        paths = measure_systems(
            NAME,
            request,
            partial(_measure, splits=splits, corpus=corpus.name),
            default=(*DEFAULTS[corpus.language], *static),
            data=f"{corpus.name}: {counts} tokens",
        )
    return paths


def language_of(data: str) -> str:
    """The language of the corpus that a result names, as in `PTB sample: 80, 10, 10 tokens`. Raises ValueError."""
    name = data.partition(":")[0]
    for corpus in CORPORA:
        if corpus.name == name:
            return corpus.language
    raise ValueError(f"a result of {NAME} is of {name!r}; expected one of {', '.join(each.name for each in CORPORA)}")


def _measure(system: System, *, splits: TaggedSplits, corpus: str) -> Measured:
    found = probe_tags(system.layers, splits)
    return Measured(
        {row: {f"{corpus}, dev": score.dev, corpus: score.test} for row, score in found.items()},
        {row: "".join("1" if hit else "0" for hit in score.hits) for row, score in found.items()},
    )


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """The rows that the paper has, too, for each corpus: accuracy on its test set. `details` has everything."""
    rows: list[OurRow] = []
    for result in read_system_results(paths, NAME):
        corpus = result.data.partition(":")[0]
        for row, numbers in result.measured.rows.items():
            name = papers_row(result, row)
            if name is not None:
                rows.append(OurRow(name, f"{result.label}, {corpus}", (Statistic((numbers[corpus],)),)))
    return rows


def details(paths: Sequence[Path]) -> list[OurTable]:
    """How the first LSTM layer compares with the second and with the token representation."""
    results = read_system_results(paths, NAME)
    about = "Accuracy in percent, on development and test data. The weights are those of the best of 8 epochs, seed 0."
    tables: list[OurTable] = []
    for data in dict.fromkeys(result.data for result in results):
        of_corpus = [result for result in results if result.data == data]
        name = data.partition(":")[0]
        tables.append(details_table(of_corpus, title=name, about=about))
        tables.append(differences_table(of_corpus, _PAIRS, about=f"{name}, test set, in points."))
    return tables


REPRODUCTION = Reproduction(
    name=NAME,
    paper=TABLE_6,
    reads="results of `python -m paper table6`",
    measure=our_rows,
    details=details,
    compute=compute,
    language_of=language_of,
)
