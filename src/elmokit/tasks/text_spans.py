"""Tokens and spans of tokens at their places in the text that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elmokit.files.json_fields import Fields
from elmokit.text.alignment import token_offsets


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Some successive tokens of a text."""

    text: str
    """As the text spells it: `whole[start:end]`."""
    first: int
    last: int
    """Indices of the first and the last token, both part of the span."""
    start: int
    end: int
    """Offsets of the first character, and of the one after the last."""

    def __repr__(self) -> str:
        return f"<{self.text!r} {self.start}:{self.end}>"


@dataclass(frozen=True, slots=True)
class LocatedTokens:
    """A text, and the offsets at which each of its tokens begins and ends (the end is exclusive)."""

    text: str
    offsets: list[tuple[int, int]]

    @classmethod
    def of(cls, tokens: Sequence[str], text: str | None) -> LocatedTokens:
        """The tokens of a text. Without one, they are joined by spaces.

        Raises ValueError, naming the token, where the tokens are not those of the text.
        """
        if text is not None:
            return cls(text, token_offsets(text, tokens))
        offsets: list[tuple[int, int]] = []
        start = 0
        for token in tokens:
            offsets.append((start, start + len(token)))
            start += len(token) + 1
        return cls(" ".join(tokens), offsets)

    def span(self, first: int, last: int) -> TextSpan:
        """The span from the first to the last token, both included."""
        start, end = self.offsets[first][0], self.offsets[last][1]
        return TextSpan(self.text[start:end], first, last, start, end)


def text_of_tokens(fields: Fields, tokens: Sequence[str]) -> str | None:
    """The text that is given next to its tokens, if there is one. Raises ValueError if these are not its tokens."""
    if "text" not in fields:
        return None
    text = fields.text("text")
    return LocatedTokens.of(tokens, text).text
