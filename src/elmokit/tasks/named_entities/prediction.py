"""The entities that a tagger finds in a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.prediction import Prediction, shortened


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a sentence, with its kind."""

    label: str
    text: str
    """As the sentence spells it: `sentence.text[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token, both part of the entity."""
    start: int
    end: int
    """Offsets of the first character, and of the one after the last."""


@dataclass(frozen=True, repr=False)
class TaggedText(Prediction):
    """A sentence with its tags and entities."""

    text: str
    """The sentence as it was given; the tokens joined by spaces if only these were given."""
    tokens: list[str]
    tags: list[str]
    """A tag for each token, in BIO: `B-PER` begins an entity, `I-PER` continues it, `O` is none."""
    entities: list[Entity]

    def __repr__(self) -> str:
        entities = ", ".join(f"{found.label} {found.text!r} {found.start}:{found.end}" for found in self.entities)
        return f"<TaggedText {shortened(self.text)}: {entities or 'no entities'}>"
