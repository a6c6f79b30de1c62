from __future__ import annotations

from dataclasses import replace

import pytest

from elmokit.tasks.semantic_roles.reader import PredicateInSentence, read_role_sentences
from elmokit.tasks.semantic_roles.recipes import SemanticRolesConfig
from elmokit.tasks.semantic_roles.task import (
    from_json,
    from_text,
    read,
    read_sentences,
    result,
    score,
    symbols,
    to_blocks,
    to_text,
    without_labels,
)

COLUMNS = """#begin document (bc/x); part 000
bc/x   0   0   Ann     NNP   *   -      -    -   -   *   (ARG0*)   (ARG0*)   (ARG0*)   -
bc/x   0   1   tried   VBD   *   try    01   -   -   *   (V*)      *         *         -
bc/x   0   2   to      TO    *   -      -    -   -   *   (ARG1*    *         *         -
bc/x   0   3   sing    VB    *   sing   01   -   -   *   *)        (V*)      *         -

bc/x   0   0   !       .     *   -      -    -   -   *   -

#end document
"""
TOKENS = ["Ann", "tried", "to", "sing"]
TRIED = PredicateInSentence(TOKENS, 1, ["B-ARG0", "B-V", "B-ARG1", "I-ARG1"])
SING = PredicateInSentence(TOKENS, 3, ["B-ARG0", "O", "O", "B-V"])
WITHOUT_V = PredicateInSentence(TOKENS, None, ["B-ARG0", "O", "O", "O"])


def test_an_example_for_each_predicate_and_what_is_left_out_is_counted(write):
    path = write(COLUMNS)
    training = read(path, SemanticRolesConfig(), True)
    tried, sing, without_v = (replace(example, sentence=0) for example in (TRIED, SING, WITHOUT_V))
    assert training.examples == [tried, sing]  # the columns have three of roles, and only two lemmas
    assert symbols([SING]) == ["O", "B-ARG0", "I-ARG0", "B-V", "I-V"]
    assert training.skipped == {"predicates without a V": 1, "sentences without a predicate": 1}
    scoring = read(path, SemanticRolesConfig(), False)
    assert scoring.examples == [tried, sing, without_v]
    assert scoring.skipped == {"sentences without a predicate": 1}


def test_long_sentences_are_left_out_of_training_only(write):
    path = write(COLUMNS)
    short = SemanticRolesConfig(max_train_tokens=3)
    training = read(path, short, True)
    assert training.examples == []
    assert training.skipped["predicates in sentences of more than 3 tokens"] == 2
    assert len(read(path, short, False).examples) == 3
    assert len(read(path, SemanticRolesConfig(max_train_tokens=0), True).examples) == 2


def test_scores_as_srl_eval_does_with_what_has_no_predicate_missed():
    right = [example.tags for example in (TRIED, SING)]
    assert score([TRIED, SING], right)["f1"] == 100
    numbers = score([TRIED, SING, WITHOUT_V], [right[0], ["O", "B-ARG0", "O", "B-V"], WITHOUT_V.tags])
    assert numbers["precision"] == pytest.approx(100 * 2 / 3)  # of tried's two arguments and sing's one
    assert numbers["recall"] == pytest.approx(100 * 2 / 4)
    assert numbers["perfect"] == pytest.approx(100 / 3)
    assert numbers["f1_ARG1"] == 100


@pytest.mark.parametrize(
    ("line", "tokens", "predicate"),
    [
        *((line, TOKENS, 3) for line in ("Ann tried to *sing*", "Ann tried to * sing *", "Ann  tried to *sing*")),
        ("She *is*n't well.", ["She", "is", "n't", "well", "."], 1),  # it need not be a whole token of its own
        ("*don't*", ["do", "n't"], 0),
    ],
)
def test_a_predicate_is_marked_with_asterisks(line: str, tokens: list[str], predicate: int):
    assert from_text(line) == PredicateInSentence(tokens, predicate, [])


def test_writes_columns_that_its_reader_reads(write):
    columns = [to_text(example, example.tags) for example in (TRIED, SING)]
    assert columns[1] == "Ann\t-\t(ARG0*)\ntried\t-\t*\nto\t-\t*\nsing\tsing\t(V*)\n"
    read_again = list(read_role_sentences(write("\n".join([*columns, to_text(WITHOUT_V, ["O"] * 4)]))))
    assert [sentence.tokens for sentence in read_again] == [TOKENS] * 3
    assert [sentence.propositions[0].tags for sentence in read_again[:2]] == [TRIED.tags, SING.tags]
    assert read_again[2].propositions == []
    (example,) = read(write("New York\t-\t(A0*)\ngave\tgive up\t(V*)\n"), SemanticRolesConfig(), False).examples
    assert to_text(example, example.tags) == "New_York\t-\t(A0*)\ngave\tgive_up\t(V*)\n"  # one cell each
    assert to_text(from_json({"tokens": ["-", "c"], "predicate": 0}), ["B-V", "O"]) == "-\t_\t(V*)\nc\t-\t*\n"


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
PROPS = """-	(ARG0*)	(ARG0*)
try	(V*)	*
-	(ARG1*	*
sing	*)	(V*)

-

give	*
-	(V*)

"""
"""What srl-eval.pl reads as the gold of these columns: lemmas and roles, one block per sentence."""


def test_writes_props_that_srl_eval_scores_as_perfect(write):
    examples = read_sentences(write(GOLD), SemanticRolesConfig()).examples
    blocks = list(to_blocks((example, example.tags or ["O"] * len(example.tokens)) for example in examples))
    assert len(blocks) == 3 and blocks[0].startswith("Ann\t-\t")
    lines = "".join(f"{block}\n" for block in blocks).splitlines()
    assert "".join(line.partition("\t")[2] + "\n" for line in lines) == PROPS


def test_predicates_of_different_texts_are_blocks_of_their_own_with_words_for_lemmas():
    tags = {"sat": ["B-A0", "B-V"], "ran": ["O", "B-V"]}
    examples = [(from_text(f"Ann *{verb}*"), tags[verb]) for verb in ("sat", "ran")]
    assert list(to_blocks(examples)) == ["Ann\t-\t(A0*)\nsat\tsat\t(V*)\n", "Ann\t-\t*\nran\tran\t(V*)\n"]


def test_the_predicate_of_a_column_without_roles_is_that_of_its_lemma(write):
    path = write("Ann\t-\t*\nsang\tsing\t*\n\nBob\t-\t(A0*)\nsang\tsing\t*\n")
    unlabelled, without_v = read(path, SemanticRolesConfig(), False).examples
    assert unlabelled.predicate is None  # its roles are all missed when it is scored
    assert (without_labels(unlabelled).predicate, without_labels(without_v)) == (1, without_v)
    assert [example.predicate for example in read_sentences(path, SemanticRolesConfig()).examples] == [1, None]


def test_writes_json_that_its_reader_reads():
    made = result(TRIED, TRIED.tags)
    assert made.to_dict()["arguments"][2] == {
        "role": "ARG1",
        "text": "to sing",
        "pieces": [{"text": "to sing", "first": 2, "last": 3, "start": 10, "end": 17}],
    }
    assert from_json(made.to_dict()) == PredicateInSentence(TOKENS, 1, [])
    assert repr(made) == "<PredicateRoles 'Ann tried to sing': ARG0 'Ann', V 'tried', ARG1 'to sing'>"


def test_the_pieces_of_an_argument_are_at_their_places_in_the_text_without_asterisks():
    tags = dict(zip((1, 4, 5, 8), ("B-A1", "B-A0", "B-V", "B-C-A1"), strict=True))
    made = result(from_text("“No”, Ann  *said*, “never”."), [tags.get(position, "O") for position in range(11)])
    assert made.text == "“No”, Ann  said, “never”."
    assert made.arguments[0].text == "No ... never"
    assert [made.text[piece.start : piece.end] for piece in made.arguments[0].pieces] == ["No", "never"]
    assert made.predicate == 5 and made.tokens[5] == "said"
