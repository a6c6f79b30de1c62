"""The supervised lines of table 5: IMS with embeddings and a neural tagger, trained here on SemCor."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.integrations.word_vectors import open_static
from elmokit.metrics.statistics import Statistic
from paper.comparators.ims import train_ims
from paper.comparators.sense_tagger import train_sense_tagger
from paper.comparators.sense_words import SenseSentence, SenseWord
from paper.data_folders import glove_file
from paper.printed import TABLE_5, PaperTable
from paper.reproduction import OurRow, Reproduction
from paper.results import RESULTS_NAME, append_result
from paper.system_results import details_table, read_system_results
from paper.table5 import FOUR, read_semcor, read_test_sets, read_wordnet, scores

if TYPE_CHECKING:
    from paper.comparators.sense_words import Word
    from paper.probes.sense_corpora import SenseCorpus
    from paper.probes.wordnet import SenseInventory
    from paper.reproduction import OurTable, Request
    from paper.runs import Evidence

NAME = "senses-supervised"
IMS, IMS_WITHOUT_WORDS, TAGGER = "ims", "ims-s", "sense-tagger"
_ROWS = {TAGGER: "Raganato et al. (2017a)", IMS_WITHOUT_WORDS: "Iacobacci et al. (2016)"}
ANSWERS = "answers"
TABLE = PaperTable(
    name="Table 5, supervised systems",
    section=TABLE_5.section,
    source="As cited by Peters et al. (2018)",
    about=TABLE_5.about,
    columns=TABLE_5.columns,
    rows={row: TABLE_5.rows[row] for row in _ROWS.values()},
)


@dataclass(frozen=True)
class _Corpora:
    """What a system is trained on, and what it is asked."""

    known: Sequence[SenseSentence]
    asked: Sequence[SenseSentence]
    inventory: SenseInventory


def compute(request: Request) -> list[Path]:
    """Train the systems of a request and answer the five test sets.

    A system is `ims`, `ims:FILE` with the embeddings of a file of word vectors, `ims-s:FILE` without the surrounding
    words, or `sense-tagger`, with its settings if there are any: `sense-tagger:hidden_dim=64,epochs=3`.
    """
    path = request.results_dir / RESULTS_NAME
    given = request.models or (IMS, f"{IMS_WITHOUT_WORDS}:{glove_file(request.data_dir)}")
    done = {(each.system, each.fingerprint) for each in read_system_results([path], NAME)}
    missing = [system for system in given if (system_name(system), _fingerprint(system)) not in done]
    if missing:
        asked = read_test_sets(request.data_dir)
        known = read_semcor(request.data_dir)
        words = {(each.lemma, each.pos) for each in asked.instances}
        corpora = _Corpora(
            known=sense_sentences(known, only=words, with_senses=True),
            asked=sense_sentences(asked, only=words, with_senses=False),
            inventory=read_wordnet(request.data_dir),
        )
        data = f"SemCor 3.0, the words of the test sets; ALL, {len(asked.instances):,} instances"
        for system in missing:
            start = time.process_time()
            answers = _answer(system, corpora)
            values = {"system": system_name(system), "is_bilm": False, "fingerprint": _fingerprint(system)}
            values["data"] = data
            rows = {ANSWERS: {name: round(number, 3) for name, number in scores(asked, answers).items()}}
            cost = {"processor_seconds": round(time.process_time() - start, 1)}
            append_result(request.results_dir, NAME, {**values, "rows": rows, "hits": {}, "texts": {}, **cost})
    return [path]


def system_name(given: str) -> str:
    """The name in results, with the name of a file instead of its path."""
    kind, _, rest = given.partition(":")
    if kind not in _TRAININGS:
        raise ValueError(f"no supervised system {given!r}; expected one of {', '.join(_TRAININGS)}")
    return f"{kind}, {rest if kind == TAGGER else Path(rest).name}" if rest else kind


def _fingerprint(given: str) -> str:
    """Of the word vectors that a system reads; empty without any."""
    kind, _, rest = given.partition(":")
    return open_static(rest).fingerprint() if rest and kind != TAGGER else ""


def sense_sentences(corpus: SenseCorpus, *, only: set[Word], with_senses: bool) -> list[SenseSentence]:
    """The sentences that have one of the words, with these words and, unless they are asked for, their senses."""
    words: dict[int, list[SenseWord]] = {}
    for each in corpus.instances:
        if (each.lemma, each.pos) in only:
            senses = tuple(corpus.keys[each.name]) if with_senses else ()
            word = SenseWord(each.name, (each.lemma, each.pos), each.target.start, each.target.end, senses)
            words.setdefault(each.target.sentence, []).append(word)
    return [
        SenseSentence(tuple(corpus.sentences[number]), tuple(corpus.tags[number]), tuple(of_sentence))
        for number, of_sentence in words.items()
    ]


def _answer(system: str, corpora: _Corpora) -> dict[str, str]:
    kind, _, rest = system.partition(":")
    return _TRAININGS[kind](rest, corpora)


def _ims(vectors: str, corpora: _Corpora) -> dict[str, str]:
    model = train_ims(corpora.known, vectors=open_static(vectors) if vectors else None)
    return model.predict(corpora.asked, corpora.inventory.senses)


def _ims_without_words(vectors: str, corpora: _Corpora) -> dict[str, str]:
    layers = open_static(vectors) if vectors else None
    model = train_ims(corpora.known, vectors=layers, surrounding_words=False)
    return model.predict(corpora.asked, corpora.inventory.senses)


def _tagger(settings: str, corpora: _Corpora) -> dict[str, str]:
    tagger = train_sense_tagger(corpora.known, settings.split(",") if settings else ())
    return tagger.predict(corpora.asked, corpora.inventory.senses)


_TRAININGS: dict[str, Callable[[str, _Corpora], dict[str, str]]] = {
    IMS: _ims,
    IMS_WITHOUT_WORDS: _ims_without_words,
    TAGGER: _tagger,
}


def our_rows(evidence: Evidence) -> list[OurRow]:
    """One row for each system: F1 over the paper's four sets."""
    return [
        OurRow(
            _ROWS.get(result.system.partition(",")[0], IMS),
            result.label,
            (Statistic((result.measured.rows[ANSWERS][FOUR],)),),
            is_extra=result.system.partition(",")[0] not in _ROWS,
        )
        for result in read_system_results(evidence.results, NAME)
    ]


def details(evidence: Evidence) -> list[OurTable]:
    """All numbers of every system."""
    about = "F1 in percent. A word that SemCor lacks gets its first sense in WordNet."
    results = read_system_results(evidence.results, NAME)
    return [details_table(results, title="By test set and part of speech", about=about)]


REPRODUCTION = Reproduction(
    name=NAME,
    paper=TABLE,
    measure=our_rows,
    details=details,
    compute=compute,
)
