"""Read the cells and tokens of corpora (whole numbers, Penn Treebank spellings), and choices of layers."""

from contextlib import suppress

TREEBANK_MARKS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "`": "'",
    "/.": ".",  # OntoNotes escapes these two at the end of an utterance
    "/?": "?",
}
"""Marks as the Penn Treebank writes them -> plain marks."""


def whole_number(text: str) -> int | None:
    """The number written with one to nine digits; None for any other text.

    `int` would refuse a number of 5,000 digits with an error that names no file.
    """
    return int(text) if text.isdecimal() and len(text) <= 9 else None


def layer_choice(text: str) -> str | int | list[float]:
    """A choice of layers as users write it: the number of a layer, weights such as `0.1,0.3,0.6`, or else the text."""
    if "," in text:
        with suppress(ValueError):
            return [float(weight) for weight in text.split(",")]
    number = whole_number(text)
    return text if number is None else number


def plain_token(token: str) -> str:
    r"""The token with plain brackets and quotes, and with `/` and `*` unescaped, as in the corpora of the biLM.

    >>> [plain_token(token) for token in ["``", "and\\/or", "-LRB-", "sic"]]
    ['"', 'and/or', '(', 'sic']
    """
    return TREEBANK_MARKS.get(token) or token.replace("\\/", "/").replace("\\*", "*")
