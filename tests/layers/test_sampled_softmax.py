"""The draws of the sampled softmax (docs/model.md, section 8); its loss is in tests/pretraining/test_gradients.py."""

import math
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from elmokit.layers import sampled_softmax as module
from elmokit.layers.sampled_softmax import (
    Negatives,
    Softmax,
    draw_negatives,
    log_expected_count,
    log_uniform_probability,
    sampled_softmax_loss,
)

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
    with torch.device("meta"):  # the device is that of the generator
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
    assert [module.widest_float(torch.device(name)) for name in ("cpu", "mps")] == [torch.float64, torch.float32]
    monkeypatch.setattr(module, "widest_float", lambda device: torch.float32)
    with _NoFloat64():
        found = loss()
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(expected.square(), hidden, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.square().sum().backward()
