"""Compares the CRF with all possible paths, its decoder with what BIO and BIOUL allow, and spans with all pairs."""

from itertools import product

import torch
from torch import Tensor

from elmokit.layers.tasks.crf import CRF, bio_transitions, bioul_transitions
from elmokit.layers.tasks.spans import (
    NUM_DISTANCE_BUCKETS,
    SpanRepresentation,
    Spans,
    distance_buckets,
    enumerate_spans,
    prune_spans,
)

LENGTHS = [4, 1, 3, 0]
MASK = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
ALL_PAIRS = torch.ones(4, 4, dtype=torch.bool)


def random_crf() -> tuple[CRF, Tensor]:
    torch.manual_seed(3)
    return CRF(num_labels=3).double(), 2 * torch.randn(4, 4, 3, dtype=torch.float64)


def score_of_path(crf: CRF, scores: Tensor, path: tuple[int, ...]) -> float:
    total = sum(scores[step, label].item() for step, label in enumerate(path))
    return total + sum(crf.transitions[pair].item() for pair in zip(path[:-1], path[1:], strict=True))


def test_likelihoods_and_decoded_labels_are_those_of_an_enumeration_of_all_paths_also_of_no_tokens():
    crf, scores = random_crf()
    decoded = crf.decode(scores, MASK, allowed=ALL_PAIRS)
    for row, length in enumerate(LENGTHS):
        paths = list(product(range(3), repeat=length))
        totals = torch.tensor([score_of_path(crf, scores[row], path) for path in paths], dtype=torch.float64)
        assert decoded[row] == list(paths[int(totals.argmax())])
        labels = torch.tensor([[*path, *[-100] * (4 - length)] for path in paths])
        got = crf.log_likelihood(scores[[row] * len(paths)], MASK[[row] * len(paths)], labels=labels)
        torch.testing.assert_close(got.detach(), totals.log_softmax(dim=0))


def test_constrained_decoding_finds_the_best_of_the_allowed_paths():
    crf, scores = random_crf()
    scores[:, 0, 0] += 10  # I-X, which may not begin a sentence
    allowed = bio_transitions(["I-X", "O", "B-X"])
    assert all(labels[0] == 0 for labels in crf.decode(scores, MASK, allowed=ALL_PAIRS) if labels)
    for row, (labels, length) in enumerate(zip(crf.decode(scores, MASK, allowed=allowed), LENGTHS, strict=True)):
        legal = [path for path in product(range(3), repeat=length) if all(allowed[p] for p in pairs(path, 3))]
        best = torch.tensor([score_of_path(crf, scores[row], path) for path in legal]).argmax()
        assert labels == list(legal[int(best)])


def pairs(path: tuple[int, ...], boundary: int) -> list[tuple[int, int]]:
    return list(zip([boundary, *path], [*path, boundary], strict=True))


def test_bio_and_bioul_allow_what_the_papers_say():
    def allowed(matrix: Tensor, labels: list[str]) -> set[str]:
        names = [*labels, "|"]
        return {f"{names[i]} {names[j]}" for i, j in matrix.nonzero().tolist()}

    assert allowed(bio_transitions(["O", "B-X", "I-X", "I-Y"]), ["O", "B-X", "I-X", "I-Y"]) == {
        *("O O", "O B-X", "O |", "B-X O", "B-X B-X", "B-X I-X", "B-X |", "I-X O", "I-X B-X", "I-X I-X", "I-X |"),
        *("I-Y O", "I-Y B-X", "I-Y I-Y", "I-Y |", "| O", "| B-X", "| |"),
    }
    assert allowed(bioul_transitions(["O", "B-X", "I-X", "L-X", "U-Y", "L-Y"]), [*"OBILU", "L-Y"]) == {
        *("O O", "O B", "O U", "O |", "L O", "L B", "L U", "L |", "U O", "U B", "U U", "U |"),
        *("L-Y O", "L-Y B", "L-Y U", "L-Y |", "B I", "B L", "I I", "I L", "| O", "| B", "| U", "| |"),
    }


SENTENCES = torch.tensor([[True, True, True], [False, False, False], [True, False, False], [True, True, False]])


def listed(spans: Spans) -> list[tuple[int, int]]:
    return list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))


def test_all_spans_up_to_the_width_within_each_sentence_in_order():
    # Sentences of tokens 0-2, none, 3, 4-5.
    spans = enumerate_spans(SENTENCES, max_width=2)
    assert listed(spans) == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (3, 3), (4, 4), (4, 5), (5, 5)]
    assert (0, 2) in listed(enumerate_spans(SENTENCES, max_width=10))
    assert listed(enumerate_spans(SENTENCES[1:2], max_width=2)) == []
    wider = torch.nn.functional.pad(SENTENCES, (0, 4))  # padding changes no span
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
    assert prune_spans(enumerate_spans(SENTENCES[1:2], max_width=2), equal[:0], max_spans=3).tolist() == []
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
