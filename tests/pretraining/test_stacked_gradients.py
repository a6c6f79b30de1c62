"""The stacked step against the separate one: losses, every gradient and carried states, in double precision."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from elmokit.corpus.batches import Batch, DirectionBatch
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.pretraining import stacked_gradients
from elmokit.pretraining.config import PretrainingConfig, with_settings
from elmokit.pretraining.gradients import LossAndGradients, draw, mean_gradients
from elmokit.pretraining.recipes import tiny
from elmokit.pretraining.stacked_gradients import StackedGradients
from elmokit.pretraining.train import Run, resume_pretraining
from elmokit.text.characters import character_ids
from toy_run import pretrain_toy

V, B, T = 70, 3, 4
WORDS = ["<S>", "</S>", "a", "bc", "밥", "elephants", "of considerable length", "x" * 60, *map(str, range(20))]

RUN = ("precision=float64", "softmax=sampled", "num_negatives=6")
CONFIGS = {
    "full": [],
    "sampled": ["softmax=sampled", "num_negatives=12"],
    "dropout": ["softmax=sampled", "num_negatives=12", "dropout_rate=0.4"],
    "carried over sentences": ["reset_state=false", "dropout_rate=0.2"],
    "without a projection": ["lstm_dim=32", "use_skip_connections=false"],
    "without clipping": ["cell_clip=null", "projection_clip=null"],
    "forward only": ["bidirectional=false", "softmax=sampled", "num_negatives=12", "activation=tanh"],
    "encoder without a projection": ["filters=[[1,8],[2,24]]", "num_highway_layers=2"],
}


def configured(settings: list[str]) -> PretrainingConfig:
    """Clips that many values reach, and that float32 has exactly."""
    small = replace(
        tiny(),
        batch_size=B,
        bptt_steps=T,
        precision="float64",
        reset_state=True,
        bilm=replace(tiny().bilm, lstm_dim=48),
    )
    return with_settings(small, ["cell_clip=0.3125", "projection_clip=0.1875", *settings])


def model(config: PretrainingConfig) -> tuple[BiLM, Softmax]:
    torch.manual_seed(4)
    dtype = torch.float64 if config.precision == "float64" else torch.float32
    bilm = BiLM(config.bilm).to(dtype)
    for lstm in bilm.lstms:
        for parameter in lstm.parameters():
            torch.nn.init.uniform_(parameter, -0.5, 0.5)
    return bilm, Softmax(num_tokens=V, dim=config.bilm.projection_dim).to(dtype)


def batches(config: PretrainingConfig, count: int) -> Iterator[Any]:
    generator = np.random.default_rng(0)
    for number in range(count):
        words = WORDS[: 12 + 8 * number]  # a later batch has more of them

        def direction() -> DirectionBatch:
            return DirectionBatch(
                tokens=generator.integers(0, len(words), (T, B)),  # noqa: B023
                targets=generator.integers(0, V, (T, B)),
                starts=generator.random((T, B)) < 0.3,
            )

        batch = Batch(character_ids(words), tuple(direction() for _ in range(config.bilm.num_directions)))
        yield draw(batch, config, num_tokens=V, number=number)


class _GraphOnCpu(stacked_gradients._Graph):  # pyright: ignore[reportPrivateUsage]
    """Inputs and results are in the same memory each time, as with a CUDA graph, which only a GPU can record."""

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


def assert_same_steps(config: PretrainingConfig, stacked: StackedGradients, *, within: float = 1e-10) -> None:
    """Three steps, of one and of several batches, compared with those of the separate way on the CPU."""
    separate = LossAndGradients(*model(config), config, device=torch.device("cpu"))
    states: list[Any] = [None, None]
    first, *rest = batches(config, 4)
    for group in ([first], rest[:2], rest[2:]):
        found: list[Any] = []
        for index, maker in enumerate((separate, stacked)):
            parameters = [*maker.bilm.parameters(), *maker.softmax.parameters()]
            losses, states[index] = mean_gradients(maker.backward, parameters, group, states[index])
            state = [part for side in (states[index].forward, states[index].backward) for part in side]
            of_step = [*(parameter.grad for parameter in parameters), *(part.cell for part in state)]
            of_step += [part.output for part in state]
            found.append(
                [torch.tensor([float(loss) for loss in losses], dtype=torch.float64), *(one.cpu() for one in of_step)]
            )  # type: ignore[union-attr]
        torch.testing.assert_close(found[1], found[0], rtol=0, atol=within)
    if config.bilm.cell_clip is not None:
        assert (states[0].forward[-1].cell.abs() == config.bilm.cell_clip).any()


@pytest.mark.parametrize("records_graph", [False, True], ids=["", "as a graph"])
@pytest.mark.parametrize("settings", CONFIGS.values(), ids=CONFIGS)
def test_losses_gradients_and_states_are_those_of_the_separate_step(
    settings: list[str], records_graph: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stacked_gradients, "_Graph", _GraphOnCpu)
    config = configured(settings)
    stacked = StackedGradients(*model(config), config, device=torch.device("cpu"))
    stacked.records_graph = records_graph
    assert_same_steps(config, stacked)


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
    config = configured(settings)
    tensors = StackedGradients(*model(config), config, device=torch.device("cpu"))._tensors(*batches(config, 1), None)  # pyright: ignore[reportPrivateUsage]
    meta = stacked_gradients._Tensors(  # pyright: ignore[reportPrivateUsage]
        *(tuple(one.to("meta") for one in group) for group in (tensors.characters, tensors.positions)),  # type: ignore[arg-type]
        *(tuple(one.to("meta") for one in group) for group in (tensors.negatives, tensors.masks)),
        [(cell.to("meta"), output.to("meta")) for cell, output in tensors.state],
    )
    stacked = StackedGradients(*(part.to("meta") for part in model(config)), config, device=torch.device("cpu"))
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda _: False)  # which does not know the device
    with _StaysOnMeta():
        results = stacked._compute(meta)  # pyright: ignore[reportPrivateUsage]
    assert [one.shape for one in results.gradients] == [parameter.shape for parameter in stacked.parameters]


@pytest.mark.cuda
@pytest.mark.parametrize("settings", [value for value in CONFIGS.values() if "dropout" not in "".join(value)])
def test_a_cuda_graph_computes_the_separate_step(settings: list[str]) -> None:
    config, device = configured(settings), torch.device("cuda")
    stacked = StackedGradients(*(part.to(device) for part in model(config)), config, device=device)
    assert_same_steps(config, stacked)


@pytest.mark.parametrize("kind", ["full", "sampled"])
def test_products_in_bfloat16_are_near_the_exact_ones(kind: str) -> None:
    config = configured(["precision=float32", f"softmax={kind}", "num_negatives=12"])
    low = replace(config, precision="bfloat16")
    exact, stacked, separate = (
        maker(*model(given), given, device=torch.device("cpu"))
        for maker, given in ((StackedGradients, config), (StackedGradients, low), (LossAndGradients, low))
    )
    (batch,) = batches(config, 1)
    losses = [[float(loss) for loss in maker.backward(batch, None)[0]] for maker in (exact, stacked, separate)]
    assert losses[1] == pytest.approx(losses[0], rel=0.01) and losses[1] == pytest.approx(losses[2], rel=0.01)
    for one, other in zip(exact.parameters, stacked.parameters, strict=True):
        assert one.grad is not None and other.grad is not None and other.grad.dtype == torch.float32
        assert (one.grad - other.grad).norm() < 0.2 * one.grad.norm() + 1e-6  # usually 0.01 to 0.06


def halted(run: Path, *settings: str, **given: Any) -> Path:
    """A run of twelve steps that was killed after the seventh."""

    def interrupt(state: Run) -> None:
        if state.progress.step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pretrain_toy(run, *RUN, *settings, on_step=interrupt, **given)
    return run


def test_a_run_may_continue_with_the_other_step_and_ends_the_same(tmp_path: Path) -> None:
    whole = load_file(pretrain_toy(tmp_path / "whole", *RUN, "dropout_rate=0.1") / "model.safetensors")
    for first, then in (("stacked", "separate"), ("separate", "stacked")):
        run = halted(tmp_path / first, "dropout_rate=0.1", f"directions={first}")
        resume_pretraining(run, [f"directions={then}"])
        torch.testing.assert_close(load_file(run / "model.safetensors"), whole, rtol=0, atol=1e-9)


@pytest.mark.cuda
@pytest.mark.parametrize("optimizer", [["optimizer=adagrad"], ["optimizer=muon", "muon_for=all"]])
def test_a_run_on_a_gpu_is_resumed_and_is_that_of_the_cpu(tmp_path: Path, optimizer: list[str]) -> None:
    whole = load_file(pretrain_toy(tmp_path / "cpu", *RUN, *optimizer, device="cpu") / "model.safetensors")
    run = halted(tmp_path / "cuda", *optimizer, device="cuda")
    resume_pretraining(run, device="cuda")
    torch.testing.assert_close(load_file(run / "model.safetensors"), whole, rtol=0, atol=1e-6)
