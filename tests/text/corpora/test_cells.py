import doctest

from elmokit.text.corpora import cells
from elmokit.text.corpora.cells import TREEBANK_MARKS, plain_token, whole_number
from elmokit.text.tokenizer import tokenize


def test_nine_digits_are_a_number_and_anything_else_is_none():
    assert [whole_number(text) for text in ("0", "007", "999999999")] == [0, 7, 999_999_999]
    others = ("", "-1", "1.0", " 1", "1_0", "²", "one", "1000000000", "9" * 5000)
    assert {whole_number(text) for text in others} == {None}


def test_a_plain_token_is_what_the_tokenizer_would_write():
    assert doctest.testmod(cells).failed == 0
    for token in (*TREEBANK_MARKS, "1\\/2", "\\*"):
        plain = plain_token(token)
        assert plain != token and tokenize(plain) == [plain]
    for token in ("and", "'s", "-", "--", "/", ".", "-LRB", "LRB", "C:\\windows", "and/or"):
        assert plain_token(token) == token
