import pytest

from elmokit.metrics.roles import (
    Argument,
    RoleScore,
    arguments_from_tags,
    props_from_tags,
    score_roles,
    tags_from_props,
)
from elmokit.metrics.score import Score


def matches(correct: int, predicted: int, gold: int) -> Score:
    return Score.of_matches(correct=correct, predicted=predicted, gold=gold)


def score(gold: str, predicted: str) -> RoleScore:
    """One predicate, its columns of brackets in one line each."""
    columns = [tags_from_props(column.split()) for column in (gold, predicted)]
    return score_roles(gold=columns[:1], predicted=columns[1:])


def test_a_continuation_is_a_piece_of_the_last_argument_of_its_role_or_an_argument_that_may_be_continued():
    tags = ["B-A1", "I-A1", "O", "B-C-A1", "B-A1", "B-V", "B-C-A1", "I-C-A1", "B-C-A1"]
    first, second, verb = arguments_from_tags(tags)
    assert (first, verb) == (Argument("A1", ((0, 1), (3, 3))), Argument("V", ((5, 5),)))
    assert second == Argument("A1", ((4, 4), (6, 7), (8, 8)))
    assert arguments_from_tags(["B-C-A2", "O", "B-C-A2"]) == [Argument("A2", ((0, 0), (2, 2)))]
    assert arguments_from_tags(["B-A1", "B-C-A0"]) == [Argument("A1", ((0, 0),)), Argument("A0", ((1, 1),))]
    reference = [Argument("A0", ((0, 0), (2, 2))), Argument("R-A0", ((1, 1),))]  # a role of its own
    assert arguments_from_tags(["B-A0", "B-R-A0", "B-C-A0"]) == reference


def test_a_score_counted_by_hand():
    result = score(
        gold="     (A0* *) (R-A0*) (V*) (A1* *) (AM-TMP*)",
        predicted="(A0* *) (A0*)   (V*) (A1*) *  (AM-LOC*)",
    )
    assert result.by_role == {
        "A0": matches(1, 2, 1),
        "A1": matches(0, 1, 1),
        "AM-LOC": matches(0, 1, 0),
        "AM-TMP": matches(0, 0, 1),
        "R-A0": matches(0, 0, 1),
        "V": matches(1, 1, 1),
    }
    assert result.overall == matches(1, 4, 4)
    assert (result.num_predicates, result.num_perfect) == (1, 0)


@pytest.mark.parametrize(
    ("predicted", "overall"),
    [
        ("(A1*) (V*) (C-A1*)  *", matches(1, 1, 1)),
        ("(A1*) (V*) *        *", matches(0, 1, 1)),  # a piece is missing: the whole argument is wrong
        ("(A1*) (V*) (C-A1*  *)", matches(0, 1, 1)),  # a piece is too long
        ("(A1*     *     *)   *", matches(0, 1, 1)),  # the same first and last token, undivided
        ("(A1*) (V*) (A1*)    *", matches(0, 2, 1)),
        ("(A0*) (V*) (C-A1*)  *", matches(0, 2, 1)),  # the C-A1 stands alone and is an A1
        ("(C-A1*) (V*) (C-A1*) *", matches(1, 1, 1)),  # so is the first one here
    ],
)
def test_a_discontinuous_argument_matches_piece_by_piece(predicted: str, overall: Score):
    assert score(gold="(A1*) (V*) (C-A1*) *", predicted=predicted).overall == overall


def test_the_predicate_is_left_out_with_its_continuation_and_predicates_are_compared_one_by_one():
    result = score(gold="(V*) (A1*) (C-V*)", predicted="(V*) (A1*) *")
    assert result.by_role == {"A1": matches(1, 1, 1), "V": matches(0, 1, 1)}
    assert result.overall == matches(1, 1, 1)
    assert result.num_perfect == 1
    few, many = "(V*) (A1*) *", "(V*) (A1*) (A0*)"
    assert score(gold=few, predicted=many).num_perfect == score(gold=many, predicted=few).num_perfect == 0
    result = score_roles(gold=[["B-V", "B-A1"], ["B-A0", "B-V"]], predicted=[["B-V", "B-A1"], ["O", "O"]])
    assert result.overall == matches(1, 1, 2)  # the arguments of a predicate that is not found are missed
    assert (result.num_predicates, result.num_perfect) == (2, 1)
    with pytest.raises(ValueError, match="0 predictions for 1 predicates; expected as many of each"):
        score_roles(gold=[["B-V"]], predicted=[])


def test_props_become_tags_and_back():
    column = ["(A0*", "*)", "*", "(V*)", "(C-A0*)", "(A1*A1)"]
    tags = ["B-A0", "I-A0", "O", "B-V", "B-C-A0", "B-A1"]
    assert tags_from_props(column) == tags
    assert props_from_tags(tags) == [*column[:5], "(A1*)"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        *(
            (column, rf"token {token}: '.*' is not a cell of brackets here; expected .* neither nest nor overlap")
            for column, token in (
                ("* (A0* (A1* *) *)", 2),
                *((column, 1) for column in ("* (A0(A1* *))", "* (A0", "* (*)", "* *)", "(A0* *A1)")),
            )
        ),
        ("* (A0* *", "token 1: A0 opens here and is never closed"),
    ],
)
def test_refuses_brackets_that_are_no_arguments(column: str, message: str):
    with pytest.raises(ValueError, match=message):
        tags_from_props(column.split())
