"""The full softmax of distinct contexts against the definition: log-softmax, sorting, and sums."""

import pytest
import torch

from elmokit.layers import full_softmax as module
from elmokit.layers.full_softmax import SoftmaxDetails, full_softmax_predictions
from elmokit.layers.sampled_softmax import Softmax

ALL = SoftmaxDetails(ranks=True, entropies=True, num_likeliest=3)


@pytest.mark.parametrize("sizes", [{}, {"CONTEXTS_AT_ONCE": 2, "TARGETS_AT_ONCE": 2, "COLUMNS_AT_ONCE": 4}], ids=str)
def test_each_target_has_the_loss_of_its_context(sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in sizes.items():
        monkeypatch.setattr(module, name, size)
    torch.manual_seed(0)
    softmax, hidden = Softmax(num_tokens=11, dim=4), torch.randn(5, 4)
    contexts, targets = torch.tensor([4, 0, 4, 1, 0, 3, 2]), torch.tensor([2, 10, 0, 7, 7, 1, 2])
    logs = softmax(hidden).log_softmax(dim=1).detach()
    found = full_softmax_predictions(hidden, softmax, contexts=contexts, targets=targets, details=ALL)
    torch.testing.assert_close(found.losses, -logs[contexts, targets])
    assert found.entropies is not None and found.ranks is not None and found.likeliest is not None
    torch.testing.assert_close(found.entropies, -(logs.exp() * logs).sum(dim=1))
    falling = logs.argsort(dim=1, descending=True)
    ranks = [falling[context].tolist().index(target) + 1 for context, target in zip(contexts, targets, strict=True)]
    assert found.ranks.tolist() == ranks
    assert torch.equal(found.likeliest[0], falling[:, :3])
    torch.testing.assert_close(found.likeliest[1], logs.exp().gather(1, falling[:, :3]))
    plain = full_softmax_predictions(hidden, softmax, contexts=contexts, targets=targets)
    assert torch.equal(plain.losses, found.losses)
    assert (plain.ranks, plain.entropies, plain.likeliest) == (None, None, None)


def test_few_contexts_are_multiplied_as_many_so_that_threads_change_no_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    multiply = torch.addmm

    def counted(bias: torch.Tensor, hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        rows.append(len(hidden))
        return multiply(bias, hidden, weight)

    monkeypatch.setattr(torch, "addmm", counted)
    softmax, contexts = Softmax(num_tokens=11, dim=4), torch.arange(5)
    found = full_softmax_predictions(torch.randn(5, 4), softmax, contexts=contexts, targets=contexts, details=ALL)
    assert rows == [module.LEAST_ROWS]
    assert found.entropies is not None and found.likeliest is not None
    assert len(found.losses) == len(found.entropies) == len(found.likeliest[0]) == 5


@pytest.mark.parametrize("scale", [1e0, 1e1, 1e3, 1e6])
def test_no_loss_and_no_entropy_is_below_zero(scale: float) -> None:
    torch.manual_seed(0)
    softmax, hidden = Softmax(num_tokens=50, dim=64), torch.randn(300, 64)
    torch.nn.init.normal_(softmax.weight, std=scale)
    contexts, likeliest = torch.arange(300), softmax(hidden).argmax(dim=1)
    found = full_softmax_predictions(hidden, softmax, contexts=contexts, targets=likeliest, details=ALL)
    assert found.entropies is not None
    for values in (found.losses, found.entropies):
        assert not values.signbit().any(), values.min()


def test_equal_probabilities_share_a_rank_and_no_more_tokens_are_likeliest_than_there_are() -> None:
    softmax, contexts, targets = Softmax(num_tokens=4, dim=2), torch.zeros(4, dtype=torch.long), torch.arange(4)
    torch.nn.init.zeros_(softmax.weight)
    with torch.no_grad():
        softmax.bias.copy_(torch.tensor([0.0, 1.0, 0.0, -1.0]))
    found = full_softmax_predictions(torch.zeros(1, 2), softmax, contexts=contexts, targets=targets, details=ALL)
    assert found.ranks is not None
    assert found.ranks.tolist() == [2, 1, 2, 4]
    with pytest.raises(ValueError, match="-1 likeliest tokens were asked for; expected 0 or more"):
        SoftmaxDetails(num_likeliest=-1)
    five = SoftmaxDetails(num_likeliest=5)
    with pytest.raises(ValueError, match="5 likeliest tokens were asked for; the vocabulary has 4"):
        full_softmax_predictions(torch.zeros(1, 2), softmax, contexts=contexts, targets=targets, details=five)


def test_the_entropy_of_a_confident_prediction_has_six_right_digits() -> None:
    """Logits far from zero, of a large vocabulary, as trained models have them."""
    torch.manual_seed(0)
    softmax, hidden = Softmax(num_tokens=50_000, dim=8), torch.randn(4, 8)
    with torch.no_grad():
        softmax.bias -= 100
        softmax.bias[:2] += 14
    found = full_softmax_predictions(
        hidden, softmax, contexts=torch.arange(4), targets=torch.zeros(4, dtype=torch.long), details=ALL
    )
    logs = (hidden.double() @ softmax.weight.double().t() + softmax.bias.double()).log_softmax(dim=1).detach()
    assert found.entropies is not None
    torch.testing.assert_close(found.entropies.double(), -(logs.exp() * logs).sum(dim=1), rtol=0, atol=2e-5)
