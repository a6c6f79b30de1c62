"""The Penn Treebank's spellings of tokens -> plain ones, as the tokenizer and the biLM's corpora have them."""

from __future__ import annotations

_PLAIN = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "`": "'",
    "/.": ".",  # OntoNotes escapes these two at the end of a unit of speech
    "/?": "?",
}


def plain_token(token: str) -> str:
    r"""The token with plain brackets and quotes, and with `/` and `*` unescaped.

    >>> [plain_token(token) for token in ["``", "and\\/or", "-LRB-", "sic"]]
    ['"', 'and/or', '(', 'sic']
    """
    return _PLAIN.get(token) or token.replace("\\/", "/").replace("\\*", "*")
