"""Tokens and spans of tokens at their places in the text that they come from."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.files.json_fields import Fields
from elmokit.system.messages import first_token
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import tokenize


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
class Passage:
    """A text, its tokens, and the character offsets at which each token begins and ends (the end is exclusive)."""

    text: str
    tokens: list[str]
    offsets: list[tuple[int, int]]

    @classmethod
    def of(cls, tokens: list[str], text: str | None) -> Passage:
        """The tokens of a text. Without one, they are joined by spaces.

        Raises ValueError, naming the token, where the tokens are not those of the text.
        """
        if text is not None:
            return cls(text, tokens, token_offsets(text, tokens))
        offsets: list[tuple[int, int]] = []
        start = 0
        for token in tokens:
            offsets.append((start, start + len(token)))
            start += len(token) + 1
        return cls(" ".join(tokens), tokens, offsets)

    def span(self, first: int, last: int) -> TextSpan:
        """The span from the first to the last token, both included."""
        start, end = self.offsets[first][0], self.offsets[last][1]
        return TextSpan(self.text[start:end], first, last, start, end)


def tokens_of(text: str, *, where: str = "") -> list[str]:
    """The tokens of a text. Raises ValueError, which begins with `where`, if there are none."""
    tokens = tokenize(text)
    if not tokens:
        raise ValueError(f"{where}{first_token(text)} has no tokens; expected at least one word")
    return tokens


def text_of_tokens(fields: Fields, tokens: list[str]) -> str | None:
    """The text that is given next to its tokens, if there is one. Raises ValueError if these are not its tokens."""
    if "text" not in fields:
        return None
    return Passage.of(tokens, fields.text("text")).text
