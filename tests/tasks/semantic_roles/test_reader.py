from pathlib import Path

import pytest

from elmokit.tasks.semantic_roles.reader import Lemma, Proposition, RoleSentence, read_role_sentences

CONLL2012 = """#begin document (bc/x); part 000
bc/x   0   0   Ann     NNP   (TOP*   -      -    -   -   *   (ARG0*)   (ARG0*)   (1)
bc/x   0   1   tried   VBD   *       try    01   -   -   *   (V*)      *         -
bc/x   0   2   to      TO    *       -      -    -   -   *   (ARG1*    *         -
bc/x   0   3   sing    VB    *)      sing   01   -   -   *   *)        (V*)      -

bc/x   0   0   -LRB-   -LRB-   (TOP*)   -   -   -   -   *   -

#end document
"""
CONLL2005 = """The    DT    (S(NP*   *      -    -       (A0*
cat    NN    *)       (X*)   -    -       *)
sat    VBD   (VP*     *      01   sit     (V*)
down   RB    *))      *      -    -       (AM-DIR*)

``     ``    (S*)     *      -    -
"""
SAT = RoleSentence(
    ["The", "cat", "sat", "down"], [Proposition(2, ["B-A0", "I-A0", "B-V", "B-AM-DIR"], Lemma(2, "sit"))]
)


def conll2012(*rows: str) -> str:
    lines = [f"x 0 {number} w{number} NN * - - - - * {row}" for number, row in enumerate(rows)]
    return "\n".join(["#begin document (x); part 000", *lines, "", "#end document"])


def read(path: Path) -> list[RoleSentence]:
    return list(read_role_sentences(path))


def test_reads_conll2012(write):
    assert read(write(CONLL2012)) == [
        RoleSentence(
            ["Ann", "tried", "to", "sing"],
            [
                Proposition(1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"], Lemma(1, "try")),
                Proposition(3, ["B-ARG0", "O", "O", "B-V"], Lemma(3, "sing")),
            ],
        ),
        RoleSentence(["("], []),
    ]


def test_reads_conll2005_with_its_columns_pasted_together(write):
    assert read(write(CONLL2005)) == [SAT, RoleSentence(['"'], [])]
    words_and_props = "The - (A0*\ncat - *)\nsat sit (V*)\ndown - (AM-DIR*)\n"
    assert read(write(words_and_props)) == [SAT]
    assert read(write("* - (A0*)\n*** sing (V*)\n"))[0].tokens == ["*", "***"]  # words of asterisks


def test_the_predicate_is_where_v_begins_whatever_the_lemma_says(write):
    path = write("give give *\nit - (A1*)\nup - (V*)\n")
    (proposition,) = read(path)[0].propositions
    assert (proposition.predicate, proposition.lemma) == (2, Lemma(0, "give"))


def test_a_column_without_v_is_kept_without_a_predicate(write):
    assert read(write(conll2012("* (V*) -", "* * -")))[0].propositions == [
        Proposition(None, ["O", "O"]),
        Proposition(0, ["B-V", "O"]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (conll2012("(V*) -", "-"), "data, line 3: 12 columns, but 13 in the lines above"),
        (conll2012("(V*) -", "(A1* -"), "data, lines 2-3, predicate 1, token 1: A1 opens here and is never closed"),
        (conll2012("*) -", "(V*) -"), "data, lines 2-3, predicate 1, token 0: '\\*\\)' closes an argument"),
        (conll2012("(V* (V*", "*) *)"), "data, line 2: the last column has '\\(V\\*'; expected coreference"),
        (conll2012("(V*) -", "(V*) -"), "data, lines 2-3, predicate 1: V begins at tokens 0, 1; expected one"),
        (conll2012("(V*) (V*) -", "* * -"), "data, line 2: 'w0' is V of predicate 2 and of another one"),
        (conll2012("V -"), "data, lines 2-2, predicate 1, token 0: 'V' is not a cell of roles"),
        ("a -\nb do (V*)\n", "data, line 2: 3 columns, but 2 in the lines above"),
        ("a do (V*)\nb be *\n", "data, lines 1-2: 2 predicates in column 2, but 1 columns of roles after it"),
        ("a\nb\n", "data, line 1: 'a' has no column of predicates"),
        ("a -\nb -\n", "data has no predicate; expected the columns of CoNLL-2005, or those of CoNLL-2012 after"),
        ("", "data has no predicate"),
    ],
)
def test_refuses(write, text: str, message: str):
    with pytest.raises(ValueError, match=message):
        read(write(text))
