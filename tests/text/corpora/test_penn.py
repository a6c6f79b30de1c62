import doctest

import pytest

from elmokit.text.corpora import penn
from elmokit.text.corpora.penn import plain_token
from elmokit.text.tokenizer import tokenize

ESCAPED = ["-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "``", "''", "`", "/.", "/?", "1\\/2", "\\*"]


def test_its_example():
    assert doctest.testmod(penn).failed == 0


@pytest.mark.parametrize("token", ESCAPED)
def test_is_what_the_tokenizer_would_write(token: str):
    plain = plain_token(token)
    assert plain != token
    assert tokenize(plain) == [plain]


@pytest.mark.parametrize("token", ["and", "'s", "-", "--", "/", ".", "-LRB", "LRB", "C:\\windows", "and/or"])
def test_leaves_the_rest_alone(token: str):
    assert plain_token(token) == token
