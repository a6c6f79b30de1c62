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
    assert (0, 2) in listed(enumerate_spans(MASK, max_width=10))
    assert listed(enumerate_spans(MASK[1:2], max_width=2)) == []
    wider = torch.nn.functional.pad(MASK, (0, 4))  # padding changes no span
    assert listed(enumerate_spans(wider, max_width=2)) == listed(spans)


def test_a_representation_is_first_last_width_and_head():
    represent = SpanRepresentation(encoded_dim=1, max_width=3, width_dim=1, dropout_rate=0.5).eval()
    with torch.no_grad():
        represent.widths.weight.copy_(torch.tensor([[10.0], [20.0], [30.0]]))
        represent.head.score.weight.fill_(torch.tensor(3.0).log())  # weights 3^encoded
    encoded, embedded = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[4.0, 0.0], [0.0, 4.0], [5.0, 6.0]])
    spans = Spans(first=torch.tensor([0, 0]), last=torch.tensor([1, 2]))
    expected = torch.tensor([[0.0, 1.0, 20.0, 1.0, 3.0], [0.0, 2.0, 30.0, 49 / 13, 66 / 13]])
    torch.testing.assert_close(represent(encoded, embedded, spans), expected)


def test_pruning_is_what_comparing_all_pairs_gives_and_of_equal_spans_the_first_are_kept():
    torch.manual_seed(0)
    spans = enumerate_spans(torch.ones(1, 30, dtype=torch.bool), max_width=6)
    equal = torch.zeros(len(spans.first))
    assert prune_spans(spans, equal, max_spans=2).tolist() == [0, 1]
    assert prune_spans(spans, equal, max_spans=0).tolist() == []
    assert prune_spans(enumerate_spans(MASK[1:2], max_width=2), equal[:0], max_spans=3).tolist() == []
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
