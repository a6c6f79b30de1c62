"""Penn Treebank spellings of tokens -> plain spellings, as in the tokenizer and in the corpora of the biLM."""

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
    "/.": ".",  # OntoNotes escapes these two at the end of an utterance
    "/?": "?",
}


def plain_token(token: str) -> str:
    r"""The token with plain brackets and quotes, and with `/` and `*` unescaped.

    >>> [plain_token(token) for token in ["``", "and\\/or", "-LRB-", "sic"]]
    ['"', 'and/or', '(', 'sic']
    """
    return _PLAIN.get(token) or token.replace("\\/", "/").replace("\\*", "*")
