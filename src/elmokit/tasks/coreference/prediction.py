"""The clusters of mentions that a resolver finds in a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit.tasks.prediction import Prediction, shortened

if TYPE_CHECKING:
    from elmokit.tasks.text_spans import TextSpan


@dataclass(frozen=True, repr=False)
class ResolvedDocument(Prediction):
    """A document with the clusters of mentions that refer to the same thing."""

    name: str
    text: str
    """The document as it was given; the tokens joined by spaces if only these were given."""
    sentences: list[list[str]]
    """Tokens of each sentence; those of mentions are counted through the document."""
    clusters: list[list[TextSpan]]
    """At least two mentions each, in the order of the document."""

    def __repr__(self) -> str:
        clusters = "; ".join(" = ".join(repr(mention.text) for mention in cluster) for cluster in self.clusters)
        return f"<ResolvedDocument {shortened(self.text)}: {clusters or 'no clusters'}>"
