from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from elmokit.layers.tasks.attention import (
    BidirectionalAttention,
    SelfAttention,
    SelfAttentivePooling,
    TrilinearSimilarity,
    biattention,
    soft_align,
)

LENGTHS, OTHER_LENGTHS = [4, 2, 1], [1, 3, 2]
MASK = torch.arange(4) < torch.tensor(LENGTHS)[:, None]
OTHER_MASK = torch.arange(3) < torch.tensor(OTHER_LENGTHS)[:, None]


def random_pair() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(2)
    return (
        torch.randn(3, 4, 5, dtype=torch.float64, generator=generator),
        torch.randn(3, 3, 5, dtype=torch.float64, generator=generator),
    )


def attentions() -> dict[str, Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]]:
    """Each attention as a function of two batches and their masks."""
    torch.manual_seed(0)
    both, alone = BidirectionalAttention(dim=5).double(), SelfAttention(dim=5).double()
    pooling = SelfAttentivePooling(dim=5).double()
    return {
        "premise": lambda a, b, m, n: soft_align(a, b, premise_mask=m, hypothesis_mask=n)[0],
        "hypothesis": lambda a, b, m, n: soft_align(b, a, premise_mask=n, hypothesis_mask=m)[1],
        "bidirectional": lambda a, b, m, n: both(a, b, context_mask=m, question_mask=n),
        "self": lambda a, b, m, n: alone(a, m),
        "biattention": lambda a, b, m, n: biattention(a, m),
        "pooling": lambda a, b, m, n: pooling(a, m)[:, None],
    }


@pytest.mark.parametrize("name", attentions())
def test_padding_order_and_neighbours_change_nothing(name: str):
    attend, (left, right) = attentions()[name], random_pair()
    attended = attend(left, right, MASK, OTHER_MASK)
    turned = attend(left.flip(0), right.flip(0), MASK.flip(0), OTHER_MASK.flip(0))
    torch.testing.assert_close(turned.flip(0), attended)
    spoilt = left.masked_fill(~MASK[..., None], 1e6), right.masked_fill(~OTHER_MASK[..., None], 1e6)
    from_spoilt = attend(*spoilt, MASK, OTHER_MASK)
    for row, (length, other) in enumerate(zip(LENGTHS, OTHER_LENGTHS, strict=True)):
        one = slice(row, row + 1)
        alone = attend(left[one, :length], right[one, :other], MASK[one, :length], OTHER_MASK[one, :other])[0]
        torch.testing.assert_close(alone, attended[row, :length])
        torch.testing.assert_close(alone, from_spoilt[row, :length])


@pytest.mark.parametrize("name", attentions())
def test_nothing_to_attend_to_gives_finite_vectors_and_gradients(name: str):
    left, right = (tensor.requires_grad_() for tensor in random_pair())
    attended = attentions()[name](left, right, MASK & False, OTHER_MASK & False)
    attended.sum().backward()
    assert attended.isfinite().all() and left.grad is not None and left.grad.isfinite().all()


def test_soft_alignment_computed_by_hand():
    premise = torch.tensor([[[1.0], [0.0]]])
    hypothesis = torch.tensor([[3.0, 1.0, 5.0]]).log()[..., None]
    masks = {"premise_mask": torch.tensor([[True, True]]), "hypothesis_mask": torch.tensor([[True, True, False]])}
    for_premise, for_hypothesis = soft_align(premise, hypothesis, **masks)
    log3 = torch.tensor(3.0).log()  # weights of e^0 and e^log 3: 1 and 3
    torch.testing.assert_close(for_premise.flatten(), torch.stack([0.75 * log3, 0.5 * log3]))
    torch.testing.assert_close(for_hypothesis.flatten(), torch.tensor([0.75, 0.5, 0.0]))


def test_biattention_computed_by_hand():
    sequence = torch.eye(2)[None] * torch.tensor(3.0).log().sqrt()  # scores log 3 with itself, 0 with the other
    expected = sequence * 0.75 + sequence.flip(1) * 0.25
    got = biattention(sequence, torch.ones(1, 2, dtype=torch.bool))
    torch.testing.assert_close(got, torch.cat([sequence, sequence - expected, sequence * expected], dim=2))


def test_trilinear_similarity_computed_by_hand():
    similarity = TrilinearSimilarity(dim=2)
    with torch.no_grad():
        similarity.left.copy_(torch.tensor([1.0, 0.0]))
        similarity.right.copy_(torch.tensor([0.0, 10.0]))
        similarity.product.copy_(torch.tensor([100.0, 1000.0]))
    left, right = torch.tensor([[[2.0, 3.0]]]), torch.tensor([[[4.0, 5.0], [0.0, 1.0]]])
    # 2 + 50 + 100 * 2 * 4 + 1000 * 3 * 5, and 2 + 10 + 1000 * 3 * 1
    assert similarity(left, right).tolist() == [[[15852.0, 3012.0]]]


def test_bidirectional_attention_computed_by_hand():
    attention = BidirectionalAttention(dim=1)
    with torch.no_grad():
        for weight in attention.similarity.parameters():
            weight.zero_()
        attention.similarity.product.fill_(torch.tensor(2.0).log())  # weights 2^(context * question)
    context, question = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[0.0], [1.0]]])
    masks = {"context_mask": torch.ones(1, 2, dtype=torch.bool), "question_mask": torch.ones(1, 2, dtype=torch.bool)}
    # Question: 1 and 2 of 3, 1 and 4 of 5. Context: largest weights 2 and 4 of 6, so 1/3 * 1 + 2/3 * 2 = 5/3.
    expected = [[1.0, 2 / 3, 2 / 3, 5 / 3], [2.0, 4 / 5, 8 / 5, 10 / 3]]
    torch.testing.assert_close(attention(context, question, **masks), torch.tensor([expected]))


def test_self_attention_computed_by_hand_leaves_a_token_itself_out_and_may_choose_nothing():
    attention = SelfAttention(dim=1)
    with torch.no_grad():
        for weight in attention.similarity.parameters():
            weight.zero_()
        attention.nothing.fill_(torch.tensor(2.0).log())
    sequence, mask = torch.tensor([[[4.0], [8.0], [100.0]]]), torch.tensor([[True, True, False]])
    # One other token has weight 1, and nothing has weight 2: a third of the token.
    attended = attention(sequence, mask)[0]
    torch.testing.assert_close(attended[:2], torch.tensor([[8 / 3, 4.0, 32 / 3], [4 / 3, 8.0, 32 / 3]]))
    assert attention(sequence, mask & torch.tensor([True, False, False]))[0, 0].tolist() == [0.0, 4.0, 0.0]
    assert SelfAttention(dim=1).nothing.item() == -1.0


def test_self_attentive_pooling_computed_by_hand():
    pooling = SelfAttentivePooling(dim=1)
    with torch.no_grad():
        pooling.score.weight.fill_(torch.tensor(2.0).log())
    values, mask = torch.tensor([[[0.0], [1.0], [9.0]]]), torch.tensor([[True, True, False]])
    torch.testing.assert_close(pooling(values, mask), torch.tensor([[2 / 3]]))  # weights 1 and 2
