"""Spans and roles: tags, columns of brackets, and scores counted by hand."""

import pytest

from elmokit.metrics.roles import (
    Argument,
    RoleScore,
    arguments_from_tags,
    props_from_tags,
    score_roles,
    tags_from_props,
)
from elmokit.metrics.score import Accuracy, Score
from elmokit.metrics.spans import Span, score_spans, spans_from_tags, tagging_scheme, tags_from_spans


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("IOB1", "I-PER I-PER B-PER O I-LOC I-PER"),
        ("BIO", "B-PER I-PER B-PER O B-LOC B-PER"),
        ("BIOUL", "B-PER L-PER U-PER O U-LOC U-PER"),
        ("IOBES", "B-PER E-PER S-PER O S-LOC S-PER"),
    ],
)
def test_the_same_spans_in_each_scheme(scheme: str, tags: str):
    spans = [Span("PER", 0, 1), Span("PER", 2, 2), Span("LOC", 4, 4), Span("PER", 5, 5)]
    assert spans_from_tags(tags.split()) == spans
    assert tags_from_spans(reversed(spans), num_tokens=6, scheme=scheme) == tags.split()


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O I-PER I-PER", [("PER", 1, 2)]),  # an illegal I starts a span
        ("B-PER I-LOC I-LOC", [("PER", 0, 0), ("LOC", 1, 2)]),
        ("I-PER O I-PER B-PER", [("PER", 0, 0), ("PER", 2, 2), ("PER", 3, 3)]),
        ("O L-PER", [("PER", 1, 1)]),
        ("B-PER O", [("PER", 0, 0)]),
        ("B-PER L-LOC", [("PER", 0, 0), ("LOC", 1, 1)]),
        ("B-PER E-PER I-PER", [("PER", 0, 1), ("PER", 2, 2)]),
        ("B-PER U-PER", [("PER", 0, 0), ("PER", 1, 1)]),
        ("B-C-A1 I-C-A1", [("C-A1", 0, 1)]),  # a label may hold hyphens, or be missing
        ("B I B O", [("", 0, 1), ("", 2, 2)]),
    ],
)
def test_illegal_tags_are_read_forgivingly(tags: str, spans: list[tuple[str, int, int]]):
    assert spans_from_tags(tags.split()) == [Span(*span) for span in spans]
    assert tags_from_spans([Span("", 0, 0)], num_tokens=1, scheme="BIOUL") == ["U"]


def test_a_score_counted_by_hand():
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O", "B-ORG", "I-ORG"]]
    predicted = [["B-PER", "I-PER", "O", "B-PER"], ["I-LOC", "O", "B-ORG", "O"]]
    score = score_spans(gold=gold, predicted=predicted)
    assert score.by_label == {
        "LOC": Score.of_matches(correct=1, predicted=1, gold=2),  # I-LOC starts a span: another tag, the same span
        "ORG": Score.of_matches(correct=0, predicted=1, gold=1),
        "PER": Score.of_matches(correct=1, predicted=2, gold=1),
    }
    assert score.overall == Score.of_matches(correct=2, predicted=4, gold=4)
    assert score.tokens == Accuracy(correct=5, total=8)
    sentences = score_spans(gold=[["B-PER"], ["I-PER"]], predicted=[["I-PER"], ["B-PER"]])  # sentences end spans
    assert sentences.overall == Score.of_matches(correct=2, predicted=2, gold=2)


ILLEGAL = {
    "BIO": ("O I-PER", "I-PER I-LOC O", "U-PER"),
    "IOB1": ("B-PER O",),
    "BIOUL": ("B-PER O", "O U-PER L-PER", "B-PER I-PER O"),
    "IOBES": ("B-PER L-PER",),
}


@pytest.mark.parametrize("scheme", ["IOB1", "BIO", "BIOUL", "IOBES"])
def test_a_scheme_is_recognised_by_what_it_alone_allows_and_not_by_what_is_illegal_in_it(scheme: str):
    assert all(tagging_scheme([tags.split()]) != scheme for tags in ILLEGAL[scheme])
    spans = [Span("PER", 0, 1), Span("PER", 2, 2), Span("LOC", 4, 6)]
    odd_one = ["O", "I-PER", "O"]  # legal in IOB1 alone
    tags = tags_from_spans(spans, num_tokens=7, scheme=scheme)
    assert tagging_scheme([tags, odd_one, tags]) == scheme
    assert tagging_scheme([["O"]]) == "BIO"


@pytest.mark.parametrize("tag", ["X-PER", "PER", "O-PER", "", "b-PER"])
def test_refuses_an_unknown_tag(tag: str):
    with pytest.raises(ValueError, match=f"token 2: the tag '{tag}' is unknown"):
        spans_from_tags(["O", "O", tag])


def matches(correct: int, predicted: int, gold: int) -> Score:
    return Score.of_matches(correct=correct, predicted=predicted, gold=gold)


def score(gold: str, predicted: str) -> RoleScore:
    """Score one predicate; each argument is a column of brackets, written as one line."""
    columns = [tags_from_props(column.split()) for column in (gold, predicted)]
    return score_roles(gold=columns[:1], predicted=columns[1:])


def test_a_continuation_is_a_piece_of_the_last_argument_of_its_role_or_an_argument_that_may_be_continued():
    tags = ["B-A1", "I-A1", "O", "B-C-A1", "B-A1", "B-V", "B-C-A1", "I-C-A1", "B-C-A1"]
    first, second, verb = arguments_from_tags(tags)
    assert (first, verb) == (Argument("A1", ((0, 1), (3, 3))), Argument("V", ((5, 5),)))
    assert second == Argument("A1", ((4, 4), (6, 7), (8, 8)))
    assert arguments_from_tags(["B-C-A2", "O", "B-C-A2"]) == [Argument("A2", ((0, 0), (2, 2)))]
    assert arguments_from_tags(["B-A1", "B-C-A0"]) == [Argument("A1", ((0, 0),)), Argument("A0", ((1, 1),))]
    reference = [Argument("A0", ((0, 0), (2, 2))), Argument("R-A0", ((1, 1),))]  # R-A0 is a separate role
    assert arguments_from_tags(["B-A0", "B-R-A0", "B-C-A0"]) == reference


def test_a_score_of_roles_counted_by_hand():
    result = score(
        gold="     (A0* *) (R-A0*) (V*) (A1* *) (AM-TMP*)",
        predicted="(A0* *) (A0*)   (V*) (A1*) *  (AM-LOC*)",
    )
    assert result.by_label == {
        "A0": matches(1, 2, 1),
        "A1": matches(0, 1, 1),
        "AM-LOC": matches(0, 1, 0),
        "AM-TMP": matches(0, 0, 1),
        "R-A0": matches(0, 0, 1),
        "V": matches(1, 1, 1),
    }
    assert result.overall == matches(1, 4, 4)
    assert result.perfect == Accuracy(0, 1)


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
    assert result.by_label == {"A1": matches(1, 1, 1), "V": matches(0, 1, 1)}
    assert result.overall == matches(1, 1, 1)
    assert result.perfect == Accuracy(1, 1)
    few, many = "(V*) (A1*) *", "(V*) (A1*) (A0*)"
    assert score(gold=few, predicted=many).perfect == score(gold=many, predicted=few).perfect == Accuracy(0, 1)
    result = score_roles(gold=[["B-V", "B-A1"], ["B-A0", "B-V"]], predicted=[["B-V", "B-A1"], ["O", "O"]])
    assert result.overall == matches(1, 1, 2)  # the arguments of a predicate that is not found are missed
    assert result.perfect == Accuracy(1, 2)
    with pytest.raises(ValueError, match="0 predictions for 1 predicates; expected one for each predicate"):
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
