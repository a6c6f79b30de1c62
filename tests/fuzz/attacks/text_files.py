"""Targets: text in every packing, word vectors, and the data sets of the six tasks."""

import gzip
import json
import lzma
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attacks.targets import Target, new_folder, target
from attacks.weights import SPECIALS, WORDS
from elmokit.corpus.prepare import Preparation, prepare
from elmokit.corpus.vocabulary_counts import write_vocabulary
from elmokit.scoring.breakdown import measure_files
from elmokit.tasks.config import Splits
from elmokit.tasks.data import read_data
from elmokit.tasks.task import find_task, recipe_config
from elmokit.text.vocabulary import Vocabulary
from elmokit.text.word_vectors import read_word_vectors, word_vector_dim

TEXT = "The cat sat on a mat . It slept there .\n\nAnother cat , of Seoul , came and sat on the mat too .\n" * 5
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": partial(gzip.compress, mtime=0),
    ".xz": lzma.compress,
}

_CONLL2012 = """#begin document (bc/x); part 000
bc/x   0   0   Ann     NNP   (TOP*   -      -    -   -   *   (ARG0*)   (ARG0*)   (1)
bc/x   0   1   tried   VBD   *       try    01   -   -   *   (V*)      *         -
bc/x   0   2   to      TO    *       -      -    -   -   *   (ARG1*    *         -
bc/x   0   3   sing    VB    *)      sing   01   -   -   *   *)        (V*)      (1)

#end document
"""
_CONLL2005 = "The DT * * - - (A0*\ncat NN *) (X*) - - *)\nsat VBD (VP* * 01 sit (V*)\ndown RB *)) * - - (AM-DIR*)\n\n"
_ANSWER = {"text": "Ann", "answer_start": 0}
_QUESTION = {"id": "q1", "question": "Who sang?", "answers": [_ANSWER]}
_SQUAD = json.dumps({"data": [{"paragraphs": [{"context": "Ann sang in Seoul.", "qas": [_QUESTION]}]}]})
_PAIR = json.dumps({"gold_label": "neutral", "sentence1": "A dog runs.", "sentence2": "It's a cat."})
DATA = (
    ("named-entities", "conll", "-DOCSTART- -X- O\n\nJane NNP B-PER\nlives VB O\n\nSeoul NNP I-LOC\n"),
    ("semantic-roles", "conll2012", _CONLL2012),
    ("semantic-roles", "conll2005", _CONLL2005),
    ("coreference", "conll2012", _CONLL2012),
    ("question-answering", "squad", _SQUAD),
    ("entailment", "json", f"{_PAIR}\n{_PAIR}\n"),
    ("entailment", "table", "sentence1\tsentence2\tgold_label\nA dog\tA cat\tentailment\na\tb\t-\n"),
    ("sentiment", "trees", "(3 (2 It) (4 (2 's) (3 good)))\n(1 (2 -LRB-) (0 bad))\n"),
    ("sentiment", "table", "id\tdocument\tlabel\n1\tA good film.\t1\n2\tbad\t0\n"),
)


def text_targets(folder: Path, given: Path) -> Iterator[Target]:
    """Text that is counted, scored and prepared; vocabularies; word vectors; data sets."""
    words = "".join(f"{word}\n" for word in (*SPECIALS, *WORDS))
    for ending in PACKINGS:
        uses = {"vocabulary": _count, "prepare": _prepare, "perplexity": partial(_perplexity, str(given / "bilm"))}
        for verb, use in uses.items():
            yield _target(folder, f"text{ending}: {verb}", f"text{ending}", TEXT.encode(), use)
        yield _target(folder, f"vocabulary{ending}", f"words{ending}", words.encode(), Vocabulary.read)
    for kind, content in _word_vectors().items():
        for ending in ("", ".gz"):
            yield _target(folder, f"word vectors, {kind}{ending}", f"vectors{ending}", content, _read_word_vectors)
    for task, kind, content in DATA:
        yield _target(folder, f"data of {task}, {kind}", "data", content.encode(), partial(_read_data, task))


def _target(folder: Path, name: str, file: str, content: bytes, use: Callable[[Path], object]) -> Target:
    """A target of one file, which is packed as its name says."""

    def make(place: Path) -> None:
        place.mkdir()
        (place / file).write_bytes(PACKINGS[Path(file).suffix](content))

    return target(name, folder, make, lambda place: use(place / file), is_named=True)


def _count(text: Path) -> None:
    with new_folder() as output:
        write_vocabulary([text], output / "words.txt")


def _prepare(text: Path) -> None:
    with new_folder() as output:
        prepare([text], output / "corpus", Preparation(held_out=0, min_tokens=1))


def _perplexity(bilm: str, text: Path) -> None:
    measure_files(bilm, [text])


def _read_word_vectors(path: Path) -> None:
    word_vector_dim(path)
    read_word_vectors(path, WORDS, first=3)


def _read_data(name: str, data: Path) -> None:
    task = find_task(name)
    read_data(task, Splits((data,), (data,)), recipe_config(task, "cpu"))


def _word_vectors() -> dict[str, bytes]:
    numbers = [0.25, -1.5, 3.0, 1e-3]
    lines = "".join(f"{word} {' '.join(map(str, numbers))}\n" for word in WORDS)
    header = f"{len(WORDS)} {len(numbers)}\n".encode()
    packed = b"".join(word.encode() + b" " + struct.pack("<4f", *numbers) + b"\n" for word in WORDS)
    return {"text": lines.encode(), "text with a header": header + lines.encode(), "binary": header + packed}
