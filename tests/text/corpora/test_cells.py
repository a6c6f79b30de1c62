import doctest

import pytest

from elmokit.tasks.named_entities.reader import read_tagged_sentences
from elmokit.tasks.semantic_roles.reader import read_role_sentences
from elmokit.tasks.sentiment.reader import read_labelled_texts
from elmokit.text.corpora import cells
from elmokit.text.corpora.cells import plain_token, refuse_json, whole_number
from elmokit.text.corpora.conll2012 import read_conll2012
from elmokit.text.tokenizer import tokenize


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("999999999", 999_999_999)])
def test_digits_are_a_number(text: str, number: int):
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["", "-1", "1.0", " 1", "1_0", "²", "one", "1000000000", "9" * 5000])
def test_anything_else_is_none(text: str):
    assert whole_number(text) is None


LINE = '{"tokens": ["Ann", "sings"], "tags": ["B-PER", "O"]}'


def test_a_line_of_json_is_refused_with_what_was_expected():
    with pytest.raises(ValueError, match="data, line 1: this is a line of JSON; expected a table .*--input-kind json"):
        refuse_json(LINE, where="data, line 1", expected="a table")


@pytest.mark.parametrize("line", ["", "{ -LRB- O", "Ann B-PER", '["Ann"]', "{" * 100_000])
def test_other_lines_pass(line: str):
    refuse_json(line, where="data, line 1", expected="a table")


def test_readers_of_columns_and_tables_say_so(write):
    path = write(f"{LINE}\n{LINE}\n")
    for read in (read_tagged_sentences, read_role_sentences, read_labelled_texts):
        with pytest.raises(ValueError, match="line 1: this is a line of JSON; expected"):
            list(read(path))
    with pytest.raises(ValueError, match="line 1: this is a line of JSON; expected '#begin document"):
        list(read_conll2012([LINE], name="data"))


ESCAPED = ["-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-", "``", "''", "`", "/.", "/?", "1\\/2", "\\*"]


def test_its_example():
    assert doctest.testmod(cells).failed == 0


@pytest.mark.parametrize("token", ESCAPED)
def test_is_what_the_tokenizer_would_write(token: str):
    plain = plain_token(token)
    assert plain != token
    assert tokenize(plain) == [plain]


@pytest.mark.parametrize("token", ["and", "'s", "-", "--", "/", ".", "-LRB", "LRB", "C:\\windows", "and/or"])
def test_leaves_the_rest_alone(token: str):
    assert plain_token(token) == token
