import pytest

from elmokit.text.corpora import conll2012
from elmokit.text.corpora.conll2012 import read_conll2012

ROW = "bc/x 0 {} {} NN * - - - Ann * (A0*) -"


def document(*rows: str, head: str = "#begin document (bc/x); part 003") -> list[str]:
    return [head, *rows, "", "#end document"]


def read(lines: list[str]) -> list[conll2012.Document]:
    return list(read_conll2012(lines, name="x.conll"))


def test_reads_documents_which_may_have_parts_and_number_signs():
    first, second = read(document(ROW.format(0, "a"), "", ROW.format(0, "b")) + document(ROW.format(0, "c")))
    assert (first.name, first.part, len(first.sentences)) == ("bc/x", 3, 2)
    assert [sentence.first_line for sentence in first.sentences] == [2, 4]
    assert second.sentences[0].line(0) == "x.conll, line 8"
    assert read(document(ROW.format(0, "a"), head="#begin document (a (b) c);"))[0].name == "a (b) c"
    lines = document("# 0 0 # # * - - - - * -")
    assert conll2012.plain_tokens(read(lines)[0].sentences[0]) == ["#"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "x.conll has no document"),
        ([ROW.format(0, "a")], "line 1: 'bc/x' ... is outside a document"),
        ([f"#begin document (bc/x); part {'1' * 5000}"], "line 1: '#begin' ... is outside a document; expected"),
        (document(), "line 1: document 'bc/x' is empty"),
        (document(ROW.format(0, "a"))[:-1], "line 1: document 'bc/x' has no '#end document' up to line 3"),
        (document(ROW.format(0, "a"))[:-1] + document(), "line 1: document 'bc/x' has no '#end document' up to line 4"),
        (document(ROW.format(0, "a"), "bc/x 0 1"), "line 3: 3 columns, but 13 in the lines above"),
        (document("bc/x 0 0 a NN"), "line 2: 5 columns; CoNLL-2012 has 11.*'bc/x' ..."),
        (document(ROW.format(0, "a"), ROW.format(1, "[WORD]")), "line 3: the word is \\[WORD\\]; first add the words"),
        (document(ROW.format(0, "a") + " (A0*)"), "line 2: the last column has '\\(A0\\*\\)'; expected coreference"),
    ],
)
def test_refuses(lines: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        read(lines)
