"""The arguments that a semantic role labeller finds for a predicate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.tasks.prediction import Prediction, shortened

if TYPE_CHECKING:
    from elmokit.tasks.text_spans import TextSpan


@dataclass(frozen=True, slots=True)
class RoleArgument:
    """An argument of a predicate, or the predicate itself, whose role is V."""

    role: str
    text: str
    """Its pieces as the sentence spells them, with ` ... ` between two of them."""
    pieces: list[TextSpan]
    """Usually one; several if the argument is interrupted (`C-A1` continues `A1`)."""


@dataclass(frozen=True, repr=False)
class PredicateRoles(Prediction):
    """A sentence with the roles of one of its predicates."""

    text: str
    """The sentence as it was given, without the asterisks; the tokens joined by spaces if only these were given."""
    tokens: list[str]
    predicate: int | None
    """Index of the predicate's token; None for a sentence of a file that has none."""
    tags: list[str]
    """A tag for each token, in BIO: `B-A0` begins an argument, `I-A0` continues it, `O` is none."""
    arguments: list[RoleArgument]

    def __repr__(self) -> str:
        found = ", ".join(f"{argument.role} {argument.text!r}" for argument in self.arguments)
        return f"<PredicateRoles {shortened(self.text)}: {found or 'no arguments'}>"
