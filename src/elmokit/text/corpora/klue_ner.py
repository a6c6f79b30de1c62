"""KLUE-NER as it is published: one character per line with its tag, spaces too, and a comment above each sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from elmokit.system.messages import first_token

_COMMENT = "##"
_FIRST_COMMENTS = ("## 토큰, 레이블 구분자", "## klue-ner")
"""How the file begins: with a description of its format, or, without that, with the name of the first sentence."""


@dataclass(frozen=True, slots=True)
class TaggedCharacters:
    """The text of a sentence, with one tag per character; the characters are on consecutive lines of the file."""

    name: str
    first_line: int
    text: str
    tags: list[str]

    @property
    def where(self) -> str:
        """File and range of lines, for errors that name the character (counted from 0) themselves."""
        return f"{self.name}, lines {self.first_line}-{self.first_line + len(self.tags) - 1}"


def begins_klue_ner(line: str) -> bool:
    """Whether the first line of a file, apart from blank ones, is one of KLUE-NER."""
    return line.startswith(_FIRST_COMMENTS)


def tagged_characters(lines: Iterable[str], *, name: str) -> Iterator[TaggedCharacters]:
    """Sentences from lines of a character, a tab and a tag; a comment or a blank line ends a sentence.

    Raises ValueError, naming `name` and the line, for a line of another kind.
    """
    characters: list[str] = []
    tags: list[str] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith(_COMMENT):
            character, tab, tag = line.partition("\t")
            if not tab or len(character) != 1 or not tag.strip():
                raise ValueError(f"{name}, line {number}: {first_token(line)}; expected a character, a tab and its tag")
            characters.append(character)
            tags.append(tag.strip())
        elif characters:
            yield TaggedCharacters(name, number - len(tags), "".join(characters), tags)
            characters, tags = [], []
    if characters:
        yield TaggedCharacters(name, number + 1 - len(tags), "".join(characters), tags)
