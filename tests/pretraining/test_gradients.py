"""A step's loss and gradients, compared with the plain way: encode every token, autograd through a loop over steps.

Then the stacked step, compared with the step of separate directions, and the steps of the optimisers.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from elmokit.corpus.batches import Batch, DirectionBatch
from elmokit.layers.projected_lstm import LSTMState
from elmokit.layers.sampled_softmax import Softmax, draw_negatives, log_expected_count
from elmokit.model.bilm import BiLM
from elmokit.pretraining import stacked_gradients
from elmokit.pretraining.config import PretrainingConfig
from elmokit.pretraining.gradients import DrawnBatch, LossAndGradients, draw, mean_gradients, seed_for
from elmokit.pretraining.optimizers import (
    CombinedOptimizer,
    Muon,
    by_eigenvalues,
    by_products,
    new_optimizer,
    polar_factors,
)
from elmokit.pretraining.recipes import recipe
from elmokit.pretraining.stacked_gradients import StackedGradients
from elmokit.pretraining.train import Run, resume_pretraining
from elmokit.text.characters import character_ids
from toy_bilm import plain_layer
from toy_run import pretrain_toy

V, B, T = 70, 3, 4
WORDS = ["<S>", "</S>", "a", "bc", "밥", "elephants", "of considerable length", "x" * 60, *map(str, range(20))]
SAMPLED = ("softmax=sampled", "num_negatives=12")
CONFIGS = {
    "full": [],
    "sampled": [*SAMPLED],
    "dropout": [*SAMPLED, "dropout_rate=0.4"],
    "carried over sentences": ["reset_state=false", "dropout_rate=0.2"],
    "without a projection": ["lstm_dim=32", "use_skip_connections=false"],
    "without clipping": ["cell_clip=null", "projection_clip=null"],
    "forward only": ["bidirectional=false", *SAMPLED, "activation=tanh"],
    "encoder without a projection": ["filters=[[1,8],[2,24]]", "num_highway_layers=2"],
}


def configured(*settings: str) -> PretrainingConfig:
    """A config with clips that many values reach and that float32 represents exactly."""
    common = (f"batch_size={B}", f"bptt_steps={T}", "precision=float64", "reset_state=true", "lstm_dim=48")
    return recipe("tiny", [*common, "cell_clip=0.3125", "projection_clip=0.1875", *settings])


def model(config: PretrainingConfig) -> tuple[BiLM, Softmax]:
    """The same weights every time, in the config's precision."""
    torch.manual_seed(4)
    dtype = torch.float64 if config.precision == "float64" else torch.float32
    bilm = BiLM(config.bilm).to(dtype)
    for lstm in bilm.lstms:
        for parameter in lstm.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return bilm, Softmax(num_tokens=V, dim=config.bilm.projection_dim).to(dtype)


def separate(*settings: str) -> LossAndGradients:
    config = configured(*settings)
    return LossAndGradients(*model(config), config, device=torch.device("cpu"))


def random_batch(num_words: int = 12, *, num_directions: int = 2, seed: int = 0) -> Batch:
    generator, words = np.random.default_rng(seed), WORDS[:num_words]

    def direction() -> DirectionBatch:
        return DirectionBatch(
            tokens=generator.integers(0, len(words), (T, B)),
            targets=generator.integers(0, V, (T, B)),
            starts=generator.random((T, B)) < 0.3,
        )

    return Batch(character_ids(words), tuple(direction() for _ in range(num_directions)))


def drawn(maker: LossAndGradients, batch: Batch, *, number: int = 1) -> DrawnBatch:
    return draw(batch, maker.config, num_tokens=V, number=number)


def batches(config: PretrainingConfig, count: int) -> Iterator[DrawnBatch]:
    """Batches, each with more distinct words than the one before."""
    for number in range(count):
        batch = random_batch(12 + 8 * number, num_directions=config.bilm.num_directions, seed=number)
        yield draw(batch, config, num_tokens=V, number=number)


def parameters_of(maker: LossAndGradients) -> list[torch.nn.Parameter]:
    return [*maker.bilm.parameters(), *maker.softmax.parameters()]


@pytest.mark.usefixtures("two_threads")
def test_a_batch_with_a_single_distinct_token_has_gradients_on_two_threads() -> None:
    tokens = np.zeros((T, B), np.int64)
    direction = DirectionBatch(tokens, targets=tokens + 3, starts=tokens > 0)
    batch = Batch(character_ids(["a"]), (direction, direction))
    alone, both = separate(*SAMPLED), separate(*SAMPLED)
    assert both.threads is not None
    alone.threads = None
    losses = [maker.backward(drawn(maker, batch), None)[0] for maker in (alone, both)]
    assert losses[1] == pytest.approx(losses[0])
    for one, other in zip(parameters_of(alone), parameters_of(both), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def plain_loss(maker: LossAndGradients, batch: Batch, *, step: int) -> torch.Tensor:
    """Mean of both directions' sampled losses, from the definitions, without carried state."""
    bilm, softmax, config = maker.bilm, maker.softmax, maker.config
    total = torch.zeros((), dtype=torch.float64)
    for index, lstm in enumerate((bilm.forward_lstm, bilm.backward_lstm)):
        assert lstm is not None
        part = batch.directions[index]
        inputs = bilm.encode_tokens(torch.from_numpy(batch.character_ids)[torch.from_numpy(part.tokens).flatten()])
        steps = inputs.view(T, B, -1)
        kept = torch.from_numpy(~part.starts).double()[..., None]  # 0 where the state is reset
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
def test_the_step_is_the_plain_one_on_two_threads_and_on_one(softmax_kind: str, threads: bool) -> None:
    maker, batch = separate(f"softmax={softmax_kind}", "num_negatives=10"), random_batch()
    assert maker.threads is not None
    maker.threads = maker.threads if threads else None
    losses, _ = maker.backward(drawn(maker, batch, number=7), None)
    got = [parameter.grad.clone() for parameter in parameters_of(maker)]  # type: ignore[union-attr]

    for parameter in parameters_of(maker):
        parameter.grad = None
    loss = plain_loss(maker, batch, step=7)
    (loss * maker.config.bptt_steps).backward()
    assert sum(losses) / 2 == pytest.approx(float(loss.detach()), abs=1e-10)
    for one, parameter in zip(got, parameters_of(maker), strict=True):
        torch.testing.assert_close(one, parameter.grad, rtol=0, atol=1e-9)


@pytest.mark.usefixtures("two_threads")
def test_a_step_over_several_batches_takes_their_mean_gradient_each_with_its_dropout() -> None:
    maker, batch = separate(*SAMPLED, "dropout_rate=0.5", "reset_state=false"), random_batch()
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


@pytest.mark.parametrize("reset_state", [False, True])
def test_the_state_is_carried_unless_it_is_reset(reset_state: bool) -> None:
    maker, batch = separate(*SAMPLED, f"reset_state={str(reset_state).lower()}"), random_batch()
    starts = np.zeros((T, B), dtype=np.bool_)
    starts[0] = True
    batch = replace(batch, directions=tuple(replace(part, starts=starts) for part in batch.directions))
    first, state = maker.backward(drawn(maker, batch), None)
    second, _ = maker.backward(drawn(maker, batch), state)
    assert (second == first) is reset_state


@pytest.mark.parametrize("optimizer", ["adagrad", "adam", "adamw"])
def test_the_fused_optimiser_makes_the_step_that_the_plain_one_makes(optimizer: str) -> None:
    # Fused optimisers read a gradient's memory in order, even a slice's: a step must not depend on strides.
    weights: list[list[torch.Tensor]] = []
    for fused in (True, False):
        maker = separate(*SAMPLED, "precision=float32", f"optimizer={optimizer}", "learning_rate=0.1")
        of_maker = new_optimizer(maker.config, maker.bilm, maker.softmax)
        for group in of_maker.param_groups:
            assert group["fused"]
            group["fused"] = fused
        maker.backward(drawn(maker, random_batch()), None)
        of_maker.step()
        weights.append([parameter.detach() for parameter in parameters_of(maker)])
    for one, other in zip(*weights, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


class _GraphOnCpu(stacked_gradients._Graph):  # pyright: ignore[reportPrivateUsage]
    """Keeps inputs and results in the same memory, as a CUDA graph does. Only a GPU can record a real graph."""

    def __init__(self, compute: Any, tensors: Any) -> None:
        self.tensors, self.compute, self.results = tensors, compute, compute(tensors)

    def replay(self, tensors: Any) -> Any:
        with torch.no_grad():
            for own, new in zip(self.tensors.all, tensors.all, strict=True):
                own.copy_(new)
        new = self.compute(self.tensors)
        pairs = [(self.results.losses, new.losses), *zip(self.results.gradients, new.gradients, strict=True)]
        for own, value in [*pairs, *zip(chain(*self.results.state), chain(*new.state), strict=True)]:
            own.copy_(value)
        return self.results


def assert_same_steps(stacked: StackedGradients, *, within: float = 1e-10) -> None:
    """Compare three steps, of one and of several batches, with the steps of separate directions on the CPU."""
    config = stacked.config
    separate = LossAndGradients(*model(config), config, device=torch.device("cpu"))
    states: list[Any] = [None, None]
    first, *rest = batches(config, 4)
    for group in ([first], rest[:2], rest[2:]):
        found: list[Any] = []
        for index, maker in enumerate((separate, stacked)):
            parameters = [*maker.bilm.parameters(), *maker.softmax.parameters()]
            losses, states[index] = mean_gradients(maker.backward, parameters, group, states[index])
            state = [part for side in states[index].directions for part in side]
            of_step = [*(parameter.grad for parameter in parameters), *(part.cell for part in state)]
            of_step += [part.output for part in state]
            found.append([torch.tensor([*map(float, losses)], dtype=torch.float64), *(one.cpu() for one in of_step)])  # type: ignore[union-attr]
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=within)
    if config.bilm.cell_clip is not None:
        assert (states[0].directions[0][-1].cell.abs() == config.bilm.cell_clip).any()


@pytest.mark.parametrize("records_graph", [False, True], ids=["", "as a graph"])
@pytest.mark.parametrize("settings", CONFIGS.values(), ids=CONFIGS)
def test_losses_gradients_and_states_are_those_of_the_separate_step(
    settings: list[str], records_graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacked_gradients, "_Graph", _GraphOnCpu)
    stacked = new_stacked(configured(*settings))
    stacked.records_graph = records_graph
    assert_same_steps(stacked)


def new_stacked(config: PretrainingConfig, device: str = "cpu") -> StackedGradients:
    return StackedGradients(*(part.to(device) for part in model(config)), config, device=torch.device(device))


def test_a_gpu_that_records_no_graph_computes_without_after_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(stacked_gradients, "_Graph", refuse)
    stacked = new_stacked(configured(*CONFIGS["sampled"]))
    stacked.records_graph = True
    with pytest.warns(UserWarning, match="cannot record a step as a graph.*not permitted when") as seen:
        assert_same_steps(stacked)
    assert len(seen) == 1 and not stacked.records_graph


class _StaysOnMeta(TorchDispatchMode):
    """Fails for an operation with results on another device, such as a number that Python reads from a GPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        results = func(*args, **(kwargs or {}))
        assert all(one.is_meta for one in tree_leaves(results) if isinstance(one, torch.Tensor)), func
        return results


@pytest.mark.parametrize("settings", CONFIGS.values(), ids=CONFIGS)
def test_a_graph_can_record_each_operation_because_none_waits_for_a_value(
    settings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configured(*settings)
    tensors = new_stacked(config)._tensors(*batches(config, 1), None)  # pyright: ignore[reportPrivateUsage]
    meta = stacked_gradients._Tensors(  # pyright: ignore[reportPrivateUsage]
        *(tuple(one.to("meta") for one in group) for group in (tensors.characters, tensors.positions)),  # type: ignore[arg-type]
        *(tuple(one.to("meta") for one in group) for group in (tensors.negatives, tensors.masks)),
        [(cell.to("meta"), output.to("meta")) for cell, output in tensors.state],
    )
    stacked = StackedGradients(*(part.to("meta") for part in model(config)), config, device=torch.device("cpu"))
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: False)  # it does not know the device
    with _StaysOnMeta():
        results = stacked._compute(meta)  # pyright: ignore[reportPrivateUsage]
    assert [one.shape for one in results.gradients] == [parameter.shape for parameter in stacked.parameters]


@pytest.mark.cuda
@pytest.mark.parametrize("settings", [value for value in CONFIGS.values() if "dropout" not in "".join(value)])
def test_a_cuda_graph_computes_the_separate_step(settings: list[str]) -> None:
    assert_same_steps(new_stacked(configured(*settings), "cuda"))


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_products_in_bfloat16_are_near_the_exact_ones(kind: str) -> None:
    config = configured("precision=float32", f"softmax={kind}", "num_negatives=12")
    low = replace(config, precision="bfloat16")
    exact, stacked = new_stacked(config), new_stacked(low)
    separate = LossAndGradients(*model(low), low, device=torch.device("cpu"))
    (batch,) = batches(config, 1)
    losses = [[float(loss) for loss in maker.backward(batch, None)[0]] for maker in (exact, stacked, separate)]
    assert losses[1] == pytest.approx(losses[0], rel=0.01) and losses[1] == pytest.approx(losses[2], rel=0.01)
    for one, other in zip(exact.parameters, stacked.parameters, strict=True):
        assert one.grad is not None and other.grad is not None and other.grad.dtype == torch.float32
        assert (one.grad - other.grad).norm() < 0.2 * one.grad.norm() + 1e-6  # usually 0.01 to 0.06


EXACT = ("precision=float64", "softmax=sampled", "num_negatives=6")


def halted(run: Path, *settings: str, **given: Any) -> Path:
    """A run of twelve steps that was killed after the seventh."""

    def interrupt(state: Run) -> None:
        if state.progress.step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain_toy(run, *EXACT, *settings, on_step=interrupt, **given)
    return run


def test_a_run_may_continue_with_the_other_step_and_ends_the_same(tmp_path: Path) -> None:
    whole = load_file(pretrain_toy(tmp_path / "whole", *EXACT, "dropout_rate=0.1") / "model.safetensors")
    for first, then in (("stacked", "separate"), ("separate", "stacked")):
        run = halted(tmp_path / first, "dropout_rate=0.1", f"directions={first}")
        resume_pretraining(run, [f"directions={then}"])
        torch.testing.assert_close(load_file(run / "model.safetensors"), whole, rtol=0, atol=1e-9)


@pytest.mark.cuda
@pytest.mark.parametrize("optimizer", [["optimizer=adagrad"], ["optimizer=muon", "muon_for=all"]])
def test_a_run_on_a_gpu_is_resumed_and_is_that_of_the_cpu(tmp_path: Path, optimizer: list[str]) -> None:
    whole = load_file(pretrain_toy(tmp_path / "cpu", *EXACT, *optimizer, device="cpu") / "model.safetensors")
    run = halted(tmp_path / "cuda", *optimizer, device="cuda")
    resume_pretraining(run, device="cuda")
    torch.testing.assert_close(load_file(run / "model.safetensors"), whole, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("muon_for", "expected"),
    [
        ("lstm", {"forward_lstm", "backward_lstm"}),
        ("all", {"forward_lstm", "backward_lstm", "convolutions", "highways", "projection"}),
    ],
)
def test_muon_has_the_matrices_that_it_is_for_and_decays_only_these(muon_for: str, expected: set[str]) -> None:
    config = recipe("tiny", [f"muon_for={muon_for}", "projection_dim=16", "weight_decay=0.1"])
    bilm, softmax = BiLM(config.bilm), Softmax(num_tokens=5, dim=config.bilm.projection_dim)
    optimizer = new_optimizer(config, bilm, softmax)
    assert isinstance(optimizer, CombinedOptimizer)
    adamw, muon = ({id(p) for group in part.param_groups for p in group["params"]} for part in optimizer.parts)
    assert [[group["weight_decay"] for group in part.param_groups] for part in optimizer.parts] == [[0.0], [0.1]]
    names = {id(parameter): name.removeprefix("char_encoder.") for name, parameter in bilm.named_parameters()}
    assert {names[one].split(".")[0] for one in muon} == expected
    assert all(parameter.ndim > 1 for parameter in bilm.parameters() if id(parameter) in muon)
    assert adamw.isdisjoint(muon) and len(adamw | muon) == len([*bilm.parameters(), *softmax.parameters()])


def test_adagrad_is_several_kernels_where_torch_has_not_one() -> None:
    config = recipe("tiny", ["optimizer=adagrad"])
    with torch.device("meta"):
        bilm, softmax = BiLM(config.bilm), Softmax(num_tokens=5, dim=config.bilm.projection_dim)
        optimizer = new_optimizer(config, bilm, softmax)
    assert [group["fused"] for group in optimizer.param_groups] == [False]  # on CPUs it is one: see the fused test


def test_eigenvalues_give_what_products_give() -> None:
    matrices = torch.randn(3, 9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    grams = matrices.mT @ matrices / matrices.square().sum(dim=(1, 2), keepdim=True)
    torch.testing.assert_close(by_eigenvalues(grams), by_products(grams))


@pytest.mark.parametrize("weight_decay", [0.0, 2.0])
def test_makes_the_steps_of_torchs_muon_for_each_matrix_and_for_convolutions(weight_decay: float) -> None:
    generator = torch.Generator().manual_seed(2)
    starts = [torch.randn(*shape, generator=generator) for shape in [(48, 8), (8, 40), (12, 12), (12, 8, 3)]]
    ours = [torch.nn.Parameter(start.clone()) for start in starts]
    theirs = [torch.nn.Parameter(start.flatten(start_dim=1).clone()) for start in starts]
    optimizers = (
        Muon(ours, lr=0.01, weight_decay=weight_decay),
        torch.optim.Muon(theirs, lr=0.01, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(5):
        for size, weight, matrix in zip((1, 1e-3, 1, 1e-3), ours, theirs, strict=True):
            weight.grad = size * torch.randn(weight.shape, generator=generator)
            matrix.grad = weight.grad.flatten(start_dim=1).clone()
        for optimizer in optimizers:
            optimizer.step()
    for start, weight, matrix in zip(starts, ours, theirs, strict=True):
        assert (weight.flatten(1) - matrix).norm() < 0.02 * (weight - start).norm()  # torch iterates in bfloat16
    assert polar_factors([torch.zeros(6, 3)])[0][0].isfinite().all()
