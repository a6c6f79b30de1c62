"""Corpora with WordNet senses, in the XML and key files of Raganato et al. (2017): SemCor, Senseval, SemEval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

from elmokit.files.lines import read_chunks, read_lines, split_tokens
from elmokit.system.messages import FormatError, printable
from elmokit.text.corpora.cells import plain_token
from paper.probes.targets import Target

if TYPE_CHECKING:
    import os

POS = ("NOUN", "VERB", "ADJ", "ADV")
_KNOWN = ("corpus", "text", "sentence", "wf", "instance")


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


@dataclass(frozen=True)
class SenseCorpus:
    """Sentences, the annotated words in them, and their senses."""

    sentences: Sequence[Sequence[str]]
    instances: Sequence[Instance]
    keys: Mapping[str, Sequence[str]]
    """Sense keys of WordNet by the instance's name; several are equally right."""
    tags: Sequence[Sequence[str]] = ()
    """The parts of speech of the sentences' tokens, as the file names them; those of an instance are among `POS`."""


def read_sense_corpus(data: Path, keys: Path) -> SenseCorpus:
    """Read `NAME.data.xml` and `NAME.gold.key.txt`. Tokens get plain brackets and quotes; multiwords become tokens.

    Raises FileNotFoundError, and FormatError, naming file and line: for anything other than these elements, a document
    type (and so entities of its own), an instance without one of the four parts of speech, or without a key.
    """
    reader = _Reader(data)
    for chunk in read_chunks(data):
        reader.read(chunk)
    reader.read(b"", is_last=True)
    answers = read_keys(keys)
    for instance in reader.instances:
        if instance.name not in answers:
            raise FormatError(keys, f"has no sense of {printable(instance.name)}, which is in {data.name}")
    return SenseCorpus(reader.sentences, reader.instances, answers, reader.tags)


def read_keys(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Sense keys by instance: lines of an instance's name and its keys, separated by spaces.

    Raises ValueError, naming the line, for an instance without a key and for a repeated one.
    """
    answers: dict[str, list[str]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        name, *keys = split_tokens(line) or [""]
        if not name:
            continue
        if not keys or name in answers:
            reason = f"repeats {printable(name)}" if keys else f"{printable(line)!r} has no sense key"
            raise FormatError(f"{path}, line {number}", reason)
        answers[name] = keys
    return answers


class _Reader:
    """Collects sentences and instances from the parser's events; nothing is expanded and nothing is looked up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sentences: list[list[str]] = []
        self.tags: list[list[str]] = []
        self.instances: list[Instance] = []
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._word: tuple[str, dict[str, str]] | None = None
        self._letters: list[str] = []
        self._is_in_sentence = False

    def read(self, chunk: bytes, *, is_last: bool = False) -> None:
        try:
            self._parser.Parse(chunk, is_last)
        except expat.ExpatError as error:
            raise FormatError(self.path, f"is not XML: {error}") from None

    def _refuse_doctype(self, *_: object) -> None:
        raise self._error("declares a document type; expected plain elements")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag not in _KNOWN:
            raise self._error(f"has an element {printable(tag)!r}; expected {', '.join(_KNOWN)}")
        if tag == "sentence":
            self._is_in_sentence = True
            self.sentences.append([])
            self.tags.append([])
        elif tag in ("wf", "instance"):
            if not self._is_in_sentence or self._word is not None:
                raise self._error("has a word outside a sentence or inside another word")
            self._word, self._letters = (tag, attributes), []

    def _text(self, text: str) -> None:
        self._letters.append(text)

    def _end(self, tag: str) -> None:
        if tag == "sentence":
            self._is_in_sentence = False
        elif self._word is not None and tag == self._word[0]:
            self._add(*self._word)
            self._word = None

    def _add(self, tag: str, attributes: dict[str, str]) -> None:
        tokens = [plain_token(token) for token in "".join(self._letters).split()]
        sentence = self.sentences[-1]
        start = len(sentence)
        sentence += tokens
        self.tags[-1] += [attributes.get("pos", "")] * len(tokens)
        if tag == "instance":
            name, lemma, pos = (attributes.get(key, "") for key in ("id", "lemma", "pos"))
            if not (name and lemma and pos in POS and tokens):
                raise self._error(
                    f"has an instance {printable(str(attributes))}; expected id, lemma, text, and one of {POS}"
                )
            target = Target(len(self.sentences) - 1, start, len(sentence))
            self.instances.append(Instance(name, lemma.lower(), pos, target))

    def _error(self, reason: str) -> FormatError:
        return FormatError(f"{self.path}, line {self._parser.CurrentLineNumber}", reason)
