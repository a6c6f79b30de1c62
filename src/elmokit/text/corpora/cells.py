"""Read the cells and tokens of corpora: whole numbers and Penn Treebank spellings."""

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


def numbers_between_commas(text: str) -> list[float] | None:
    """The numbers of a text such as `0.1,0.3,0.6`; None for any other text, and for a single number."""
    try:
        return [float(number) for number in text.split(",")] if "," in text else None
    except ValueError:
        return None


def plain_token(token: str) -> str:
    r"""The token with plain brackets and quotes, and with `/` and `*` unescaped, as in the corpora of the biLM.

    >>> [plain_token(token) for token in ["``", "and\\/or", "-LRB-", "sic"]]
    ['"', 'and/or', '(', 'sic']
    """
    return TREEBANK_MARKS.get(token) or token.replace("\\/", "/").replace("\\*", "*")
