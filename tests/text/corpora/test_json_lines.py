from __future__ import annotations

import pytest

from elmokit.tasks.named_entities.reader import read_tagged_sentences
from elmokit.tasks.semantic_roles.reader import read_role_sentences
from elmokit.tasks.sentiment.reader import read_labelled_texts
from elmokit.text.corpora.conll2012 import read_conll2012
from elmokit.text.corpora.json_lines import refuse_json

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
