"""The CRF against every path there is, and its decoder against what BIO and BIOUL allow."""

from itertools import product

import torch
from torch import Tensor

from elmokit.layers.tasks.crf import CRF, bio_transitions, bioul_transitions

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
    scores[:, 0, 0] += 10  # I-X, with which no sentence may begin
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
