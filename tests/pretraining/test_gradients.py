"""A step's loss and gradients against the plain way: every token encoded, autograd through a per-step loop."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from elmokit.corpus.batches import Batch, DirectionBatch
from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax, draw_negatives, log_expected_count
from elmokit.model.bilm import BiLM
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.gradients import DrawnBatch, LossAndGradients, draw, mean_gradients, seed_for
from elmokit.pretraining.optimizers import new_optimizer
from elmokit.pretraining.recipes import tiny
from elmokit.text.characters import character_ids
from toy_bilm import plain_layer

V, B, T = 40, 3, 4
WORDS = ["<S>", "</S>", "a", "bc", "밥", "elephants", "d"]


@pytest.fixture
def config() -> PretrainingConfig:
    return replace(
        tiny(), batch_size=B, bptt_steps=T, softmax="sampled", num_negatives=10, precision="float64", reset_state=True
    )


def random_batch() -> Batch:
    generator = np.random.default_rng(0)

    def direction() -> DirectionBatch:
        return DirectionBatch(
            tokens=generator.integers(0, len(WORDS), (T, B)),
            targets=generator.integers(0, V, (T, B)),
            starts=generator.random((T, B)) < 0.3,
        )

    return Batch(character_ids=character_ids(WORDS), directions=(direction(), direction()))


def made(config: PretrainingConfig) -> LossAndGradients:
    """Of a model and a softmax in the config's precision, the same every time."""
    torch.manual_seed(4)
    dtype = getattr(torch, config.precision)
    bilm, softmax = BiLM(config.bilm).to(dtype), Softmax(num_tokens=V, dim=config.bilm.projection_dim).to(dtype)
    return LossAndGradients(bilm, softmax, config, device=torch.device("cpu"))


def drawn(maker: LossAndGradients, batch: Batch, *, number: int = 1) -> DrawnBatch:
    return draw(batch, maker.config, num_tokens=V, number=number)


def test_a_batch_with_a_single_distinct_token_has_gradients_on_two_threads(config: PretrainingConfig) -> None:
    tokens = np.zeros((T, B), np.int64)
    direction = DirectionBatch(tokens, targets=tokens + 3, starts=tokens > 0)
    batch = Batch(character_ids(["a"]), (direction, direction))
    alone = made(config)
    losses, _ = alone.backward(drawn(alone, batch), None)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        both = made(config)
        assert both.threads is not None
        assert both.backward(drawn(both, batch), None)[0] == pytest.approx(losses)
    finally:
        torch.set_num_threads(threads)
    for one, other in zip(parameters_of(alone), parameters_of(both), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def parameters_of(maker: LossAndGradients) -> list[torch.nn.Parameter]:
    return [*maker.bilm.parameters(), *maker.softmax.parameters()]


def plain_loss(maker: LossAndGradients, batch: Batch, *, step: int) -> torch.Tensor:
    """Mean of both directions' sampled losses, from the definitions, without carried state."""
    bilm, softmax, config = maker.bilm, maker.softmax, maker.config
    total = torch.zeros((), dtype=torch.float64)
    for index, lstm in enumerate((bilm.forward_lstm, bilm.backward_lstm)):
        assert lstm is not None
        part = batch.directions[index]
        inputs = bilm.encode_tokens(torch.from_numpy(batch.character_ids)[torch.from_numpy(part.tokens).flatten()])
        steps = inputs.view(T, B, -1)
        kept = torch.from_numpy(~part.starts).double()[..., None]  # the state is reset
        sizes = (config.bilm.lstm_dim, config.bilm.projection_dim)
        zeros = LSTMState(*(torch.zeros(B, size, dtype=torch.float64) for size in sizes))
        for number, layer in enumerate(lstm.layers):
            outputs, _, _ = plain_layer(layer, steps, zeros, [B] * T, kept)
            steps = outputs + (steps if number > 0 else 0)
        hidden, targets = steps.flatten(0, 1), torch.from_numpy(part.targets).flatten()
        logits = hidden @ softmax.weight.T + softmax.bias
        if config.softmax == "full":
            total = total + functional.cross_entropy(logits, targets) / 2
            continue
        generator = torch.Generator().manual_seed(seed_for(config, step, index))
        negatives = draw_negatives(config.num_negatives, num_tokens=V, generator=generator)
        counts = log_expected_count(torch.arange(V), num_draws=negatives.num_draws, num_tokens=V).double()
        for row, target in enumerate(targets.tolist()):
            classes = [target, *(k for k in negatives.ids.tolist() if k != target)]
            corrected = (logits[row] - counts)[classes]
            total = total + (corrected.logsumexp(0) - corrected[0]) / (2 * len(targets))
    return total


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("softmax_kind", "threads"), [("sampled", True), ("sampled", False), ("full", True)])
def test_the_step_is_the_plain_one_on_two_threads_and_on_one(
    config: PretrainingConfig, softmax_kind: str, threads: bool
) -> None:
    maker, batch = made(replace(config, softmax=softmax_kind)), random_batch()
    assert maker.threads is not None
    maker.threads = maker.threads if threads else None
    losses, _ = maker.backward(drawn(maker, batch, number=7), None)
    got = [parameter.grad.clone() for parameter in parameters_of(maker)]  # type: ignore[union-attr]

    for parameter in parameters_of(maker):
        parameter.grad = None
    loss = plain_loss(maker, batch, step=7)
    (loss * config.bptt_steps).backward()
    assert sum(losses) / 2 == pytest.approx(float(loss.detach()), abs=1e-10)
    for one, parameter in zip(got, parameters_of(maker), strict=True):
        torch.testing.assert_close(one, parameter.grad, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("two_threads")
def test_a_step_over_several_batches_takes_their_mean_gradient_each_with_its_dropout(config: PretrainingConfig):
    maker, batch = made(replace(config, dropout_rate=0.5, reset_state=False)), random_batch()
    batches = [drawn(maker, batch, number=number) for number in (3, 4, 5)]
    together, state = mean_gradients(maker.backward, parameters_of(maker), batches, None)[0], None
    mean = [parameter.grad.clone() for parameter in parameters_of(maker)]  # type: ignore[union-attr]
    losses: list[tuple[float, ...]] = []
    for one in batches:
        loss, state = maker.backward(one, state)
        losses.append(loss)
        for total, parameter in zip(mean, parameters_of(maker), strict=True):
            total -= parameter.grad / 3
    assert together == pytest.approx(np.mean(losses, axis=0)) and len({*losses}) == 3
    for rest in mean:
        torch.testing.assert_close(rest, torch.zeros_like(rest), atol=1e-12, rtol=0)


def test_the_state_is_carried_unless_it_is_reset(config: PretrainingConfig) -> None:
    for reset_state in (False, True):
        maker, batch = made(replace(config, reset_state=reset_state)), random_batch()
        starts = np.zeros((T, B), dtype=np.bool_)
        starts[0] = True
        batch = replace(batch, directions=tuple(replace(part, starts=starts) for part in batch.directions))
        first, state = maker.backward(drawn(maker, batch), None)
        second, _ = maker.backward(drawn(maker, batch), state)
        assert (second == first) is reset_state


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adamw"])
def test_the_fused_optimiser_makes_the_step_that_the_plain_one_makes(config: PretrainingConfig, optimizer: str) -> None:
    # Fused optimisers read a gradient's memory as it lies, also that of a slice: a step must not depend on its strides.
    weights: list[list[torch.Tensor]] = []
    for fused in (True, False):
        maker = made(replace(config, precision="float32"))
        of_run = replace(config, optimizer=optimizer, learning_rate=0.1)
        made_optimizer = new_optimizer(of_run, maker.bilm, maker.softmax)
        for group in made_optimizer.param_groups:
            assert group["fused"]
            group["fused"] = fused
        maker.backward(drawn(maker, random_batch()), None)
        made_optimizer.step()
        weights.append([parameter.detach() for parameter in parameters_of(maker)])
    for one, other in zip(*weights, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
