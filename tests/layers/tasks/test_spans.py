import pytest
import torch

from elmokit.layers.tasks.spans import (
    NUM_DISTANCE_BUCKETS,
    SpanRepresentation,
    Spans,
    distance_buckets,
    enumerate_spans,
    prune_spans,
)

MASK = torch.tensor([[True, True, True], [False, False, False], [True, False, False], [True, True, False]])


def listed(spans: Spans) -> list[tuple[int, int]]:
    return list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))


def test_all_spans_up_to_the_width_within_each_sentence_in_order():
    # Sentences of tokens 0-2, none, 3, 4-5.
    spans = enumerate_spans(MASK, max_width=2)
    assert listed(spans) == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (3, 3), (4, 4), (4, 5), (5, 5)]
    assert spans.widths.tolist() == [1, 2, 1, 2, 1, 1, 1, 2, 1]
    assert (0, 2) in listed(enumerate_spans(MASK, max_width=10))
    assert listed(enumerate_spans(MASK[1:2], max_width=2)) == []
    wider = torch.nn.functional.pad(MASK, (0, 4))  # padding changes no span
    assert listed(enumerate_spans(wider, max_width=2)) == listed(spans)


def test_a_representation_is_first_last_width_and_head():
    represent = SpanRepresentation(encoded_dim=1, max_width=2, width_dim=1, dropout_rate=0.5).eval()
    with torch.no_grad():
        represent.widths.weight.copy_(torch.tensor([[10.0], [20.0]]))
        represent.head.score.weight.fill_(torch.tensor(3.0).log())  # weights 3^encoded
    encoded, embedded = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[4.0, 0.0], [0.0, 4.0], [5.0, 6.0]])
    spans = Spans(first=torch.tensor([0, 2]), last=torch.tensor([1, 2]))
    expected = torch.tensor([[0.0, 1.0, 20.0, 1.0, 3.0], [2.0, 2.0, 10.0, 5.0, 6.0]])
    torch.testing.assert_close(represent(encoded, embedded, spans), expected)


def pruned(bounds: list[tuple[int, int]], scores: list[float], *, max_spans: int) -> list[tuple[int, int]]:
    first, last = torch.tensor(bounds, dtype=torch.long).reshape(-1, 2).unbind(1)
    kept = prune_spans(Spans(first=first, last=last), torch.tensor(scores), max_spans=max_spans)
    return [bounds[index] for index in kept.tolist()]


def test_the_best_spans_are_kept_but_those_that_cross_a_better_one():
    bounds = [(0, 2), (1, 1), (1, 3), (2, 5), (3, 4), (6, 6)]
    # (1, 3) crosses (0, 2), which is better; (2, 5) crosses both. (1, 1) and (3, 4) are inside or beside, as may be.
    assert pruned(bounds, [5.0, 1.0, 4.0, 3.0, 2.0, 0.0], max_spans=3) == [(0, 2), (1, 1), (3, 4)]
    assert pruned(bounds, [5.0, 1.0, 4.0, 3.0, 2.0, 0.0], max_spans=9) == [(0, 2), (1, 1), (3, 4), (6, 6)]
    assert pruned(bounds, [1.0, 0.0, 4.0, 3.0, 0.0, 0.0], max_spans=1) == [(1, 3)]
    assert pruned(bounds, [0.0] * 6, max_spans=2) == [(0, 2), (1, 1)]
    assert pruned(bounds, [0.0] * 6, max_spans=0) == pruned([], [], max_spans=3) == []


def test_pruning_is_what_comparing_all_pairs_gives():
    torch.manual_seed(0)
    spans = enumerate_spans(torch.ones(1, 30, dtype=torch.bool), max_width=6)
    for _ in range(20):
        scores = torch.randn(len(spans.first))
        expected: list[tuple[int, int]] = []
        for index in scores.argsort(descending=True).tolist():
            a, b = listed(spans)[index]
            if len(expected) < 12 and not any(a < c <= b < d or c < a <= d < b for c, d in expected):
                expected.append((a, b))
        assert [listed(spans)[index] for index in prune_spans(spans, scores, max_spans=12).tolist()] == sorted(expected)


def test_buckets_are_those_of_the_paper():
    distances = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64, 1000]
    assert distance_buckets(torch.tensor(distances)).tolist() == [0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]
    assert NUM_DISTANCE_BUCKETS == 10


def test_refuses_wide_spans_no_width_and_distances_backwards():
    represent = SpanRepresentation(encoded_dim=1, max_width=2, width_dim=1, dropout_rate=0.0)
    with pytest.raises(ValueError, match="a span of 3 tokens; expected at most 2"):
        represent(torch.zeros(3, 1), torch.zeros(3, 1), Spans(first=torch.tensor([0]), last=torch.tensor([2])))
    with pytest.raises(ValueError, match="at most 0 tokens"):
        enumerate_spans(MASK, max_width=0)
    with pytest.raises(ValueError, match="2 scores for 9 spans"):
        prune_spans(enumerate_spans(MASK, max_width=2), torch.zeros(2), max_spans=1)
    with pytest.raises(ValueError, match="a distance of -2"):
        distance_buckets(torch.tensor([3, -2]))
