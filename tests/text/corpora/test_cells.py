import doctest

import pytest

from elmokit.tasks.named_entities.reader import read_tagged_sentences
from elmokit.tasks.semantic_roles.reader import read_role_sentences
from elmokit.tasks.sentiment.reader import read_texts
from elmokit.text.corpora import cells
from elmokit.text.corpora.cells import TREEBANK_MARKS, plain_token, refuse_json, whole_number
from elmokit.text.corpora.conll2012 import read_conll2012
from elmokit.text.tokenizer import tokenize


def test_nine_digits_are_a_number_and_anything_else_is_none():
    assert [whole_number(text) for text in ("0", "007", "999999999")] == [0, 7, 999_999_999]
    others = ("", "-1", "1.0", " 1", "1_0", "²", "one", "1000000000", "9" * 5000)
    assert {whole_number(text) for text in others} == {None}


LINE = '{"tokens": ["Ann", "sings"], "tags": ["B-PER", "O"]}'


@pytest.mark.parametrize("line", ["", "{ -LRB- O", "Ann B-PER", '["Ann"]', "{" * 100_000])
def test_other_lines_pass(line: str):
    refuse_json(line, where="data, line 1", expected="a table")


def test_readers_of_columns_and_tables_say_so(write):
    path = write(f"{LINE}\n{LINE}\n")
    for read in (read_tagged_sentences, read_role_sentences, read_texts):
        with pytest.raises(ValueError, match="line 1: this is a line of JSON; expected .*--input-kind json"):
            list(read(path))
    with pytest.raises(ValueError, match="line 1: this is a line of JSON; expected '#begin document"):
        list(read_conll2012([LINE], name="data"))


def test_a_plain_token_is_what_the_tokenizer_would_write():
    assert doctest.testmod(cells).failed == 0
    for token in (*TREEBANK_MARKS, "1\\/2", "\\*"):
        plain = plain_token(token)
        assert plain != token and tokenize(plain) == [plain]
    for token in ("and", "'s", "-", "--", "/", ".", "-LRB", "LRB", "C:\\windows", "and/or"):
        assert plain_token(token) == token
