"""The full softmax compared with its definition, and the draws of the sampled softmax (docs/model.md, section 8).

The loss of the sampled softmax is tested in tests/pretraining/test_gradients.py.
"""

import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elmokit.layers import full_softmax, sampled_softmax
from elmokit.layers.full_softmax import SoftmaxDetails, full_softmax_predictions
from elmokit.layers.sampled_softmax import (
    Negatives,
    Softmax,
    draw_negatives,
    log_expected_count,
    log_uniform_probability,
    sampled_softmax_loss,
)

ALL = SoftmaxDetails(ranks=True, entropies=True, num_likeliest=3)


@pytest.mark.parametrize("sizes", [{}, {"CONTEXTS_AT_ONCE": 2, "TARGETS_AT_ONCE": 2, "COLUMNS_AT_ONCE": 4}], ids=str)
def test_each_target_has_the_loss_of_its_context(sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in sizes.items():
        monkeypatch.setattr(full_softmax, name, size)
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
    assert rows == [full_softmax.LEAST_ROWS]
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
    """The logits are far from zero and the vocabulary is large, as in trained models."""
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


V, D, N = 50, 6, 9


def test_ids_are_drawn_and_expected_with_their_log_uniform_probabilities() -> None:
    probabilities = log_uniform_probability(torch.arange(V), num_tokens=V)
    assert float(probabilities.sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(probabilities[0]) == pytest.approx(math.log(2) / math.log(51), abs=1e-12)
    generator, rounds = torch.Generator().manual_seed(0), 1500
    drawn = [draw_negatives(1, num_tokens=V, generator=generator) for _ in range(rounds)]
    shares = torch.cat([negatives.ids for negatives in drawn]).bincount(minlength=V) / rounds
    assert float((shares - probabilities).abs().max()) < 0.05  # about 5 standard errors
    assert {negatives.num_draws for negatives in drawn} == {1}
    expected = log_expected_count(torch.arange(V), num_draws=30, num_tokens=V).exp()
    torch.testing.assert_close(expected, (1 - (1 - probabilities) ** 30).float())


def test_negatives_are_distinct_and_counted_to_the_last_draw() -> None:
    generator = torch.Generator().manual_seed(3)
    negatives = draw_negatives(20, num_tokens=V, generator=generator)
    assert len(negatives.ids.unique()) == 20
    assert negatives.ids.min() >= 0 and negatives.ids.max() < V
    assert negatives.num_draws >= 20
    with torch.device("meta"):  # the generator decides the device
        again = draw_negatives(20, num_tokens=V, generator=torch.Generator("cpu").manual_seed(3))
    assert torch.equal(negatives.ids, again.ids) and negatives.num_draws == again.num_draws
    with pytest.raises(ValueError, match="50 distinct negatives from a vocabulary of 50"):
        draw_negatives(50, num_tokens=V, generator=generator)


class _NoFloat64(TorchDispatchMode):
    """A device that has no float64."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        assert not (isinstance(result, torch.Tensor) and result.dtype == torch.float64), func
        return result


def test_without_float64_the_loss_is_the_same_and_a_gradient_of_the_gradient_is_refused(monkeypatch: Any) -> None:
    torch.manual_seed(0)
    softmax, hidden = Softmax(num_tokens=V, dim=D).requires_grad_(False), torch.randn(N, D, requires_grad=True)
    targets = torch.arange(N)
    negatives = Negatives(ids=torch.tensor([2, 5, 11, 30, 49]), num_draws=8)
    rows = [(softmax.weight[ids], softmax.bias[ids]) for ids in (targets, negatives.ids)]

    def loss() -> torch.Tensor:
        return sampled_softmax_loss(hidden, *rows, targets=targets, negatives=negatives, num_tokens=V)

    expected = loss()
    assert [sampled_softmax.widest_float(torch.device(name)) for name in ("cpu", "mps")] == [
        torch.float64,
        torch.float32,
    ]
    monkeypatch.setattr(sampled_softmax, "widest_float", lambda device: torch.float32)
    with _NoFloat64():
        found = loss()
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(expected.square(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()
