"""What a cell or a token of a corpus says: whole numbers, Penn Treebank spellings, and JSON."""

from collections.abc import Iterable, Iterator

from elmokit.files.json_fields import Fields, parse_json_object

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
"""Marks as the Penn Treebank writes them, and as they are."""


def whole_number(text: str) -> int | None:
    """The number that one to nine digits write; None for any other text.

    `int` refuses one of 5,000 digits with an error that names no file.
    """
    return int(text) if text.isdecimal() and len(text) <= 9 else None


def numbers_between_commas(text: str) -> list[float] | None:
    """The numbers of a text such as `0.1,0.3,0.6`; None for any other text, and for a single number."""
    try:
        return [float(number) for number in text.split(",")] if "," in text else None
    except ValueError:
        return None


def json_lines(lines: Iterable[str], *, name: str) -> Iterator[Fields]:
    """The fields of the object in each line that is not blank; errors name the file and the line."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{name}, line {number}"
            yield Fields(where, parse_json_object(line, where=where))


def plain_token(token: str) -> str:
    r"""The token with plain brackets and quotes, and with `/` and `*` unescaped, as in the corpora of the biLM.

    >>> [plain_token(token) for token in ["``", "and\\/or", "-LRB-", "sic"]]
    ['"', 'and/or', '(', 'sic']
    """
    return TREEBANK_MARKS.get(token) or token.replace("\\/", "/").replace("\\*", "*")
