"""Corpora with WordNet senses, in the XML and key files of Raganato et al. (2017), and WordNet's list of them.

That is the file `index.sense`, the most frequent sense of a word first; see senseidx(5WN).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from elmokit.files.lines import read_lines, split_tokens
from elmokit.system.messages import FormatError, printable
from elmokit.text.corpora.cells import plain_token
from paper.probes.targets import Target

POS = ("NOUN", "VERB", "ADJ", "ADV")
Word = tuple[str, str]
"""Lemma in lower case and part of speech: `("play", "NOUN")`."""
Senses = Mapping[Word, tuple[str, ...]]
"""A dictionary: the sense keys of its words, the most frequent sense first."""

_LINE = re.compile(r"(?P<key>(?P<lemma>[^ %]+)%(?P<type>[1-5]):[^ ]*) \d{8} (?P<number>\d{1,3}) \d{1,9}")
_POS = {"1": "NOUN", "2": "VERB", "3": "ADJ", "4": "ADV", "5": "ADJ"}  # 5: adjectives that belong to another one


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
    """Sense keys of WordNet; several are equally right."""

    @property
    def word(self) -> Word:
        """What WordNet knows it by."""
        return self.lemma, self.pos


@dataclass(frozen=True)
class SenseSentence:
    """A sentence with the words in it that are trained on, or asked for."""

    tokens: list[str]
    tags: list[str]
    """The parts of speech of the tokens, as the file names them; those of an instance are among `POS`."""
    words: list[Instance]


@dataclass(frozen=True)
class SenseCorpus:
    """Sentences, the annotated words in them, and the tags of their tokens."""

    sentences: list[list[str]]
    instances: list[Instance]
    tags: list[list[str]]

    def with_words(self, words: Collection[Word]) -> list[SenseSentence]:
        """The sentences that have one of the words, with these words alone."""
        found: dict[int, list[Instance]] = {}
        for each in self.instances:
            if each.word in words:
                found.setdefault(each.target.sentence, []).append(each)
        return [SenseSentence(self.sentences[number], self.tags[number], each) for number, each in found.items()]


def read_sense_corpus(data: Path, keys: Path) -> SenseCorpus:
    """Read `NAME.data.xml` and `NAME.gold.key.txt`. Tokens get plain brackets and quotes; multiwords become tokens.

    Raises FileNotFoundError, and FormatError, naming file and sentence or line: for anything other than these elements,
    an instance without one of the four parts of speech, or without a key.
    """
    answers = read_keys(keys)
    corpus = SenseCorpus([], [], [])
    for number, sentence in enumerate(_sentences(data)):
        where = f"{data}, sentence {number + 1}"
        tokens: list[str] = []
        tags: list[str] = []
        for word in sentence:
            if word.tag not in ("wf", "instance") or len(word):
                raise FormatError(where, f"has an element {printable(word.tag)!r}; expected wf or instance, with text")
            own = [plain_token(token) for token in (word.text or "").split()]
            if word.tag == "instance":
                name, lemma, pos = (word.get(key, "") for key in ("id", "lemma", "pos"))
                if not (name and lemma and pos in POS and own):
                    given = printable(str(word.attrib))
                    raise FormatError(where, f"has an instance {given}; expected id, lemma, text, and one of {POS}")
                if name not in answers:
                    raise FormatError(keys, f"has no sense of {printable(name)}, which is in {data.name}")
                target = Target(number, len(tokens), len(tokens) + len(own))
                corpus.instances.append(Instance(name, lemma.lower(), pos, target, answers[name]))
            tokens += own
            tags += [word.get("pos", "")] * len(own)
        corpus.sentences.append(tokens)
        corpus.tags.append(tags)
    return corpus


def read_keys(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Sense keys by instance: lines of an instance's name and its keys, separated by spaces.

    Raises ValueError, naming the line, for an instance without a key and for a repeated one.
    """
    answers: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name, *keys = split_tokens(line) or [""]
        if not name:
            continue
        if not keys or name in answers:
            reason = f"repeats {printable(name)}" if keys else f"{printable(line)!r} has no sense key"
            raise FormatError(f"{path}, line {number}", reason)
        answers[name] = tuple(keys)
    return answers


def _sentences(path: Path) -> Iterator[ElementTree.Element]:
    """The sentences of an XML file, one at a time."""
    try:
        for _, element in ElementTree.iterparse(path):
            if element.tag == "sentence":
                yield element
                element.clear()
    except ElementTree.ParseError as error:
        raise FormatError(path, f"is not XML: {error}") from None


def read_inventory(path: str | os.PathLike[str]) -> Senses:
    """Read `index.sense`. Raises FileNotFoundError, and FormatError, naming the line, for anything else."""
    numbered: dict[Word, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        match = _LINE.fullmatch(line)
        if match is None:
            raise FormatError(f"{path}, line {number}", f"is {printable(line)!r}; expected a line of index.sense")
        numbered.setdefault((match["lemma"], _POS[match["type"]]), {})[match["key"]] = int(match["number"])
    return {word: tuple(sorted(keys, key=keys.__getitem__)) for word, keys in numbered.items()}


def word_of(key: str) -> Word:
    """The word of a sense key. Raises ValueError for what is not a sense key."""
    lemma, _, rest = key.partition("%")
    if not lemma or rest[:1] not in _POS:
        raise ValueError(f"{printable(key)!r} is not a sense key of WordNet; expected one such as art%1:09:00::")
    return lemma, _POS[rest[0]]
