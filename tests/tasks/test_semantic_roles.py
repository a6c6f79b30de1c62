"""Predicates with their roles: read, written, scored and found."""

import math
from dataclasses import replace

import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import nn

from elmokit.tasks.semantic_roles.model import SemanticRoleParser
from elmokit.tasks.semantic_roles.task import (
    TASK,
    Lemma,
    PredicateInSentence,
    SemanticRolesConfig,
    read_predicates,
    with_predicate,
)
from task_examples import ANN, PREDICATES, SEMANTIC_ROLES

GOLD = """#begin document (bc/x); part 000
bc/x   0   0   Ann     NNP   *   -      -    -   -   *   (ARG0*)   (ARG0*)   -
bc/x   0   1   tried   VBD   *   try    01   -   -   *   (V*)      *         -
bc/x   0   2   -LRB-   TO    *   sense  -    -   -   *   (ARG1*    *         -
bc/x   0   3   sang    VB    *   sing   02   -   -   *   *)        (V*)      -

bc/x   0   0   !       .     *   -      -    -   -   *   -

bc/x   0   0   Up      RB    *   give   01   -   -   *   *         -
bc/x   0   1   gave    VBD   *   -      -    -   -   *   (V*)      -

#end document
"""
CONLL2005 = """The    DT    (S(NP*   *      -    -       (A0*
cat    NN    *)       (X*)   -    -       *)
sat    VBD   (VP*     *      01   sit     (V*)
down   RB    *))      *      -    -       (AM-DIR*)

``     ``    (S*)     *      -    -
"""


def conll2012(*rows: str) -> str:
    """A document of one sentence. Each row has the word, the columns of roles and the column of coreference."""
    lines = [f"x 0 {number} {row.replace(' ', ' NN * - - - - * ', 1)}" for number, row in enumerate(rows)]
    return "\n".join(["#begin document (x); part 000", *lines, "", "#end document", ""])


def test_reads_conll2012(write):
    words = ["Ann", "tried", "(", "sang"]
    assert list(read_predicates(write(GOLD))) == [
        PredicateInSentence(words, 1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"], Lemma(1, "try"), sentence=0),
        PredicateInSentence(words, 3, ["B-ARG0", "O", "O", "B-V"], Lemma(3, "sing"), sentence=0),
        PredicateInSentence(["!"], None, [], sentence=1),
        PredicateInSentence(["Up", "gave"], 1, ["O", "B-V"], Lemma(0, "give"), sentence=2),  # at V, not at the lemma
    ]


def test_reads_conll2005_with_its_columns_pasted_together(write):
    tags, lemma = ["B-A0", "I-A0", "B-V", "B-AM-DIR"], Lemma(2, "sit")
    sat = PredicateInSentence(["The", "cat", "sat", "down"], 2, tags, lemma, sentence=0)
    assert list(read_predicates(write(CONLL2005))) == [sat, PredicateInSentence(['"'], None, [], sentence=1)]
    assert list(read_predicates(write("The - (A0*\ncat - *)\nsat sit (V*)\ndown - (AM-DIR*)\n"))) == [sat]
    assert [each.tokens for each in read_predicates(write("* - (A0*)\n*** sing (V*)\n"))] == [["*", "***"]]


def test_refuses(refusals, snapshot: SnapshotAssertion):
    texts = [
        conll2012("a (V*) -", "b B-A1 -"),
        "a do (V*)\nb be *\n",
        "She - B-A0\nsaw see B-V\n",
        "a\nb\n",
        "a -\nb -\n",
    ]
    assert refusals(read_predicates, texts) == snapshot


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        *(
            (cells, "predicates whose roles nest, overlap or have no end")
            for cells in (
                "(V*) (ARG1(R-ARG2*) *)",
                "(V*) (C-ARG1*) (A1(A2*))",
                "(V*) (A1* *))",
                "(V*) (A1* (A1*)",
                "(A1* (C-A1(V*) *)",
                "(V*) * (A1*",
            )
        ),
        ("(V*) (V*) *", "predicates with more than one V"),
        ("* (V*) *", "predicates with the same V as another predicate"),
    ],
)
def test_a_predicate_whose_roles_cannot_be_read_is_left_out_and_counted(write, cells: str, reason: str):
    first, second, third = cells.split()
    path = write(conll2012(f"a * {first} -", f"b (V*) {second} -", f"c (A1*) {third} -"))
    for training in (True, False):
        reading = TASK.read(path, SemanticRolesConfig(), training)
        assert [example.tags for example in reading.examples] == [["O", "B-V", "B-A1"]]
        assert reading.skipped == {reason: 1}
    predicted = TASK.read_to_predict(path, SemanticRolesConfig(), as_text=True)
    assert [(example.predicate, example.fault) for example in predicted.examples] == [(1, ""), (None, reason)]
    assert predicted.skipped == {reason: 1}
    blocks = list(TASK.to_text((example, ["O", "B-V", "O"]) for example in predicted.examples))
    assert blocks == ["a\t-\t*\nb\tb\t(V*)\nc\t-\t*\n"]


COLUMNS = conll2012("Ann (ARG0*) (ARG0*) (ARG0*) -", "tried (V*) * * -", "to (ARG1* * * -", "sing *) (V*) * -")
COLUMNS += conll2012("! -")
TOKENS = ["Ann", "tried", "to", "sing"]
TRIED = PredicateInSentence(TOKENS, 1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"])
SING = PredicateInSentence(TOKENS, 3, ["B-ARG0", "O", "O", "B-V"])
WITHOUT_V = PredicateInSentence(TOKENS, None, ["B-ARG0", "O", "O", "O"])


def test_an_example_for_each_predicate_and_what_is_left_out_is_counted(write):
    path = write(COLUMNS)
    training, scoring = (TASK.read(path, SemanticRolesConfig(), training) for training in (True, False))
    tried, sing, without_v = (replace(example, sentence=0) for example in (TRIED, SING, WITHOUT_V))
    assert training.examples == [tried, sing]  # the file has no lemmas
    assert TASK.symbols([SING]) == ["O", "B-ARG0", "I-ARG0", "B-V", "I-V"]
    assert training.skipped == {"predicates without a V": 1, "sentences without a predicate": 1}
    assert scoring.examples == [tried, sing, without_v]
    assert scoring.skipped == {"sentences without a predicate": 1}
    short = SemanticRolesConfig(max_train_tokens=3)  # long sentences are left out of training only
    training = TASK.read(path, short, True)
    assert training.examples == []
    assert training.skipped["predicates in sentences of more than 3 tokens"] == 2
    assert len(TASK.read(path, short, False).examples) == 3
    assert len(TASK.read(path, SemanticRolesConfig(max_train_tokens=0), True).examples) == 2


def test_scores_as_srl_eval_does_with_what_has_no_predicate_missed():
    right = [example.tags for example in (TRIED, SING)]
    assert TASK.score([TRIED, SING], right)["f1"] == 100
    numbers = TASK.score([TRIED, SING, WITHOUT_V], [right[0], ["O", "B-ARG0", "O", "B-V"], ["O"] * 4])
    assert numbers["precision"] == pytest.approx(100 * 2 / 3)  # of tried's two arguments and sing's one
    assert numbers["recall"] == pytest.approx(100 * 2 / 4)
    assert numbers["perfect"] == pytest.approx(100 / 3)
    assert numbers["f1_ARG1"] == 100


@pytest.mark.parametrize(
    ("line", "tokens", "predicate"),
    [
        *((line, TOKENS, 3) for line in ("Ann tried to *sing*", "Ann tried to * sing *", "Ann  tried to *sing*")),
        ("She *is*n't well.", ["She", "is", "n't", "well", "."], 1),  # the mark may be inside a written word
        ("*don't*", ["do", "n't"], 0),
    ],
)
def test_a_predicate_is_marked_with_asterisks(line: str, tokens: list[str], predicate: int):
    assert TASK.from_text(line) == PredicateInSentence(tokens, predicate, [])


def test_writes_columns_that_its_reader_reads(write):
    columns = [next(TASK.to_text([(example, example.tags)])) for example in (TRIED, SING)]
    assert columns[1] == "Ann\t-\t(ARG0*)\ntried\t-\t*\nto\t-\t*\nsing\tsing\t(V*)\n"
    read_again = list(read_predicates(write("\n".join([*columns, next(TASK.to_text([(WITHOUT_V, ["O"] * 4)]))]))))
    assert [example.tokens for example in read_again] == [TOKENS] * 3
    assert [example.tags for example in read_again] == [TRIED.tags, SING.tags, []]
    (example,) = TASK.read(write("New York\t-\t(A0*)\ngave\tgive up\t(V*)\n"), SemanticRolesConfig(), False).examples
    assert next(TASK.to_text([(example, example.tags)])) == "New_York\t-\t(A0*)\ngave\tgive_up\t(V*)\n"  # one cell each
    assert (
        next(TASK.to_text([(TASK.from_json({"tokens": ["-", "c"], "predicate": 0}), ["B-V", "O"])]))
        == "-\t_\t(V*)\nc\t-\t*\n"
    )


def test_writes_props_that_srl_eval_scores_as_perfect(write):
    examples = TASK.read_to_predict(write(GOLD), SemanticRolesConfig(), as_text=True).examples
    blocks = list(TASK.to_text((example, example.tags or ["O"] * len(example.tokens)) for example in examples))
    assert len(blocks) == 3 and blocks[0].startswith("Ann\t-\t")
    rows = [line.split() for line in GOLD.splitlines()[1:-1]]  # srl-eval.pl reads lemmas and roles
    props = ["\t".join([row[6] if row[7] != "-" else "-", *row[11:-1]]) if row else "" for row in rows]
    assert [line.partition("\t")[2] for block in blocks for line in f"{block}\n".splitlines()] == props


def test_predicates_of_different_texts_are_blocks_of_their_own_with_words_for_lemmas():
    examples = [(TASK.from_text(f"Ann *{verb}*"), ["O", "B-V"]) for verb in ("sat", "ran")]
    assert list(TASK.to_text(examples)) == ["Ann\t-\t*\nsat\tsat\t(V*)\n", "Ann\t-\t*\nran\tran\t(V*)\n"]


def test_the_predicate_of_a_column_without_roles_is_that_of_its_lemma(write):
    path = write("Ann\t-\t*\nsang\tsing\t*\n\nBob\t-\t(A0*)\nsang\tsing\t*\n")
    unlabelled, without_v = TASK.read(path, SemanticRolesConfig(), False).examples
    assert unlabelled.predicate is None  # scoring counts all its roles as missed
    assert (with_predicate(unlabelled).predicate, with_predicate(without_v)) == (1, without_v)
    assert [
        example.predicate for example in TASK.read_to_predict(path, SemanticRolesConfig(), as_text=True).examples
    ] == [1, None]


@pytest.fixture
def parser(stand_in_inputs) -> SemanticRoleParser:
    torch.manual_seed(1)
    made = SEMANTIC_ROLES.model(stand_in_inputs(SEMANTIC_ROLES.words(), input_dim=8, output_dim=3))
    nn.init.normal_(made.dense.weight)
    return made.eval()


def test_the_loss_is_the_sum_over_the_tokens(parser: SemanticRoleParser):
    nn.init.zeros_(parser.dense.weight)  # every tag is as likely as any other
    assert parser([PREDICATES[0]]).item() == pytest.approx(5 * math.log(len(parser.labels)))
    assert parser(PREDICATES).item() == pytest.approx(17 / 4 * math.log(len(parser.labels)))


def test_the_predicate_decides_and_without_one_nothing_is_found(parser: SemanticRoleParser):
    asked = PredicateInSentence(ANN, PREDICATES[1].predicate, PREDICATES[0].tags)
    assert parser([asked]) != parser(PREDICATES[:1])
    nothing = PredicateInSentence(ANN, None, ["B-ARG0", "O", "O", "O", "O"])
    assert parser.predict([nothing, PREDICATES[0]]) == [["O"] * 5, *parser.predict(PREDICATES[:1])]
    assert parser.predict([nothing]) == [["O"] * 5]
    assert parser.predict([]) == []
