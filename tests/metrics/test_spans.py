import pytest

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
        "LOC": Score.of_matches(correct=1, predicted=1, gold=2),  # I-LOC is a start here; the tag differs, the span not
        "ORG": Score.of_matches(correct=0, predicted=1, gold=1),
        "PER": Score.of_matches(correct=1, predicted=2, gold=1),
    }
    assert score.overall == Score.of_matches(correct=2, predicted=4, gold=4)
    assert score.tokens == Accuracy(correct=5, total=8)
    sentences = score_spans(gold=[["B-PER"], ["I-PER"]], predicted=[["I-PER"], ["B-PER"]])  # a span ends with its own
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
