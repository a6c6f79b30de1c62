"""What a task model says of an example, the same from Python and from the command line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

_MOST_CHARACTERS = 60


@dataclass(frozen=True)
class Prediction:
    """The interface of each task's own predictions, which are frozen dataclasses of lists, texts and numbers."""

    def to_dict(self) -> dict[str, Any]:
        """The object that `elmokit predict --format json` writes."""
        return asdict(self)


def shortened(text: str) -> str:
    """The text in quotes, cut to be read at a glance."""
    return repr(text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3]}...")


def shown_labels(label: str, probabilities: dict[str, float]) -> str:
    """The label and its probability, as a `repr` shows them."""
    return f"{label} ({probabilities[label]:.1%})"
