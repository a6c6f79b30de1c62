"""Corpora with WordNet senses, in the XML and key files of Raganato et al. (2017), and WordNet's list of senses.

The list is the file `index.sense`. It numbers a word's senses, the most frequent one first; see senseidx(5WN).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

from elmokit.files.lines import read_lines, split_tokens
from elmokit.metrics.score import Score
from elmokit.system.messages import FormatError
from elmokit.text.corpora.cells import plain_token

POS = ("NOUN", "VERB", "ADJ", "ADV")
SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
Word = tuple[str, str]
"""Lemma in lower case and part of speech: `("play", "NOUN")`."""
Senses = Mapping[Word, tuple[str, ...]]
"""A dictionary: the sense keys of its words, the most frequent sense first."""

_POS = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}  # 5: satellite adjectives


@dataclass(frozen=True, slots=True)
class Target:
    """Tokens `start` to `end` (exclusive) of the sentence with the number `sentence`."""

    sentence: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Instance:
    """A word whose sense is annotated."""

    name: str
    """Its id in the file: `senseval2.d000.s000.t000`."""
    lemma: str
    """In lower case, with `_` between the words of a multiword."""
    pos: str
    """One of `POS`."""
    target: Target
    """Its tokens."""
    senses: tuple[str, ...]
    """Sense keys of WordNet. If there are several, all are equally right."""

    @property
    def word(self) -> Word:
        """Its key in a dictionary of senses."""
        return self.lemma, self.pos


@dataclass(frozen=True)
class SenseSentence:
    """A sentence, and the words in it to train on or to disambiguate."""

    tokens: list[str]
    tags: list[str]
    """The parts of speech of the tokens, as the file names them. An instance has one of `POS`."""
    words: list[Instance]


@dataclass(frozen=True)
class SenseCorpus:
    """Sentences, the annotated words in them, and the tags of their tokens."""

    sentences: list[list[str]]
    instances: list[Instance]
    tags: list[list[str]]

    def with_words(self, words: Collection[Word]) -> list[SenseSentence]:
        """The sentences that have one of the words, with only these words annotated."""
        found: dict[int, list[Instance]] = {}
        for each in self.instances:
            if each.word in words:
                found.setdefault(each.target.sentence, []).append(each)
        return [SenseSentence(self.sentences[number], self.tags[number], each) for number, each in found.items()]


def read_semcor(folder: Path) -> SenseCorpus:
    """Read SemCor from the folder of the evaluation framework."""
    semcor = folder / "Training_Corpora" / "SemCor"
    return read_sense_corpus(semcor / "semcor.data.xml", semcor / "semcor.gold.key.txt")


def read_senses(folder: Path) -> SenseCorpus:
    """Read the five test sets of the evaluation framework, one after the other."""
    tests = folder / "Evaluation_Datasets" / "ALL"
    return read_sense_corpus(tests / "ALL.data.xml", tests / "ALL.gold.key.txt")


def read_sense_corpus(data: Path, keys: Path) -> SenseCorpus:
    """Read `NAME.data.xml` and `NAME.gold.key.txt`. Brackets and quotes become plain; multiwords become several tokens.

    Raises FileNotFoundError, FormatError if `data` is not XML, and KeyError for an instance without a key.
    """
    answers = {name: tuple(senses) for name, *senses in map(split_tokens, read_lines(keys))}
    corpus = SenseCorpus([], [], [])
    for number, sentence in enumerate(_sentences(data)):
        tokens: list[str] = []
        tags: list[str] = []
        for word in sentence:
            own = [plain_token(token) for token in (word.text or "").split()]
            tag = word.get("pos", "")
            if word.tag == "instance":
                name, lemma = word.attrib["id"], word.attrib["lemma"].lower()
                target = Target(number, len(tokens), len(tokens) + len(own))
                corpus.instances.append(Instance(name, lemma, tag, target, answers[name]))
            tokens += own
            tags += [tag] * len(own)
        corpus.sentences.append(tokens)
        corpus.tags.append(tags)
    if not corpus.instances:
        raise FormatError(data, "has no word with a sense; expected a corpus of the evaluation framework")
    return corpus


def _sentences(path: Path) -> Iterator[ElementTree.Element]:
    """The sentences of an XML file, one at a time."""
    try:
        for _, element in ElementTree.iterparse(path):
            if element.tag == "sentence":
                yield element
                element.clear()
    except ElementTree.ParseError as error:
        raise FormatError(path, f"is not XML: {error}") from None


def read_inventory(path: Path) -> Senses:
    """Read `index.sense`: each line has a sense key, an offset, the sense's number among its word's, and a count."""
    numbered: dict[Word, dict[str, int]] = {}
    for line in read_lines(path):
        key, _, number, _ = line.split(" ")
        numbered.setdefault(word_of(key), {})[key] = int(number)
    return {word: tuple(sorted(keys, key=keys.__getitem__)) for word, keys in numbered.items()}


def word_of(key: str) -> Word:
    """The word of a sense key such as `art%1:09:00::`."""
    lemma, _, rest = key.partition("%")
    return lemma, _POS[rest[0]]


def sense_scores(asked: SenseCorpus, answers: Mapping[str, str]) -> dict[str, float]:
    """F1 in percent over the paper's four sets together, all five, each set, and each part of speech of all five."""

    def f1(group: list[Instance]) -> float:
        """F1 as the Scorer of the framework counts it, with one key per answer: a missing answer only lowers recall."""
        correct = sum(answers.get(each.name) in each.senses for each in group)
        predicted = sum(each.name in answers for each in group)
        return Score.of_matches(correct=correct, predicted=predicted, gold=len(group)).f1

    of_set = {name: [each for each in asked.instances if each.name.startswith(f"{name}.")] for name in SETS}
    of_pos = {pos: [each for each in asked.instances if each.pos == pos] for pos in POS}
    of_four = list(chain.from_iterable(group for name, group in of_set.items() if name != "semeval2007"))
    groups = {"four sets": of_four, "ALL": asked.instances, **of_set, **of_pos}
    return {name: f1(group) for name, group in groups.items() if group}
