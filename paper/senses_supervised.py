"""The supervised lines of table 5: IMS with embeddings and a neural tagger, trained here on SemCor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.integrations.embed_with import open_static
from paper.comparators.ims import TrainedIMS, train_ims
from paper.comparators.sense_tagger import SenseTagger, train_sense_tagger
from paper.data_folders import glove_file
from paper.printed import TABLE_5
from paper.probes.sense_corpora import SenseSentence
from paper.reproduction import OurRow, Request
from paper.systems import Measured, SystemResult, SystemTable, measure_systems
from paper.table5 import FOUR, read_semcor, read_test_sets, read_wordnet, scores

NAME = "senses-supervised"
IMS, IMS_WITHOUT_WORDS, TAGGER = "ims", "ims-s", "sense-tagger"
_ROWS = {TAGGER: "Raganato et al. (2017a)", IMS_WITHOUT_WORDS: "Iacobacci et al. (2016)"}
ANSWERS = "answers"


@dataclass(frozen=True)
class Supervised:
    """A system that learns senses."""

    name: str
    """Name in results: `ims-s, glove.txt`."""
    fingerprint: str
    """Of the word vectors that it reads; empty without any."""
    train: Callable[[list[SenseSentence]], TrainedIMS | SenseTagger]
    is_bilm: bool = False


def find_supervised(given: str) -> Supervised:
    """A system as the command line names it. Raises ValueError for an unknown one.

    `ims`, `ims:FILE` with the embeddings of a file of word vectors, `ims-s:FILE` without the surrounding words, or
    `sense-tagger`, with its settings if there are any: `sense-tagger:hidden_dim=64,epochs=3`.
    """
    kind, _, rest = given.partition(":")
    if kind == TAGGER:
        settings = rest.split(",") if rest else []
        return Supervised(f"{kind}, {rest}" if rest else kind, "", lambda known: train_sense_tagger(known, settings))
    if kind not in (IMS, IMS_WITHOUT_WORDS):
        raise ValueError(f"no supervised system {given!r}; expected one of {IMS}, {IMS_WITHOUT_WORDS}, {TAGGER}")
    vectors = open_static(rest) if rest else None
    return Supervised(
        f"{kind}, {Path(rest).name}" if rest else kind,
        vectors.fingerprint() if vectors else "",
        lambda known: train_ims(known, vectors=vectors, surrounding_words=kind == IMS),
    )


def compute(request: Request) -> None:
    """Train the systems of a request on SemCor, and answer the five test sets."""
    asked, inventory = read_test_sets(request.data_dir), read_wordnet(request.data_dir)
    words = {each.word for each in asked.instances}
    known = read_semcor(request.data_dir).with_words(words)

    def measure(system: Supervised) -> Measured:
        answers = system.train(known).predict(asked.with_words(words), inventory)
        return Measured({ANSWERS: scores(asked, answers)})

    measure_systems(
        NAME,
        request,
        measure,
        default=(IMS, f"{IMS_WITHOUT_WORDS}:{glove_file(request.data_dir)}"),
        data=f"SemCor 3.0, the words of the test sets; ALL, {len(asked.instances):,} instances",
        opened=find_supervised,
    )


def _row(result: SystemResult, row: str) -> OurRow:
    """F1 over the paper's four sets."""
    kind = result.system.partition(",")[0]
    return OurRow(_ROWS.get(kind, IMS), result.label, (result.cell(row, FOUR),))


TABLE = SystemTable(
    name=NAME,
    paper=replace(
        TABLE_5,
        name="Table 5, supervised systems",
        topic="",
        source="As cited by Peters et al. (2018)",
        rows={row: TABLE_5.rows[row] for row in _ROWS.values()},
        notes=(),
    ),
    compute=compute,
    row=_row,
    title="By test set and part of speech",
    about="F1 in percent. A word that SemCor lacks gets its first sense in WordNet.",
)
