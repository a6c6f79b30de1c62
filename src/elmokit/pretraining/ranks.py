"""Processes that train one model together, started by torchrun: each has its share of the streams of every batch.

The gradients are made by hand (`gradients.py`), so they are averaged by hand too, where DistributedDataParallel would
hook into autograd: one all-reduce a tensor, gloo between CPUs, nccl between GPUs. Every process takes the same step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor

from elmokit.layers.projected_lstm import LSTMState
from elmokit.model.bilm import BiLMState

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Ranks:
    """This process among all: its number from 0, and how many there are. One process needs no group and no torchrun."""

    device: torch.device
    rank: int = 0
    world_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and speaks."""
        return self.rank == 0

    def share(self, batch_size: int) -> slice:
        """This process's streams. ValueError when the streams cannot be split evenly."""
        if batch_size % self.world_size:
            raise ValueError(
                f"batch_size is {batch_size}, which {self.world_size} processes cannot split evenly; it counts the "
                f"streams of all processes together: take a multiple of {self.world_size}"
            )
        size = batch_size // self.world_size
        return slice(self.rank * size, (self.rank + 1) * size)

    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its mean over all processes."""
        if self.world_size == 1:
            return
        works = [cast("dist.Work", dist.all_reduce(tensor, async_op=True)) for tensor in tensors]
        for tensor, work in zip(tensors, works, strict=True):
            work.wait()
            tensor.div_(self.world_size)

    def mean(self, numbers: Sequence[float]) -> tuple[float, ...]:
        """Mean of each number over all processes, the same everywhere."""
        if self.world_size == 1:
            return tuple(numbers)
        together = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        self.average([together])
        return tuple(cast("list[float]", together.tolist()))

    def any(self, flag: bool) -> bool:
        """Whether any process says yes, so that all of them stop at the same step."""
        return any(value > 0 for value in self.mean([float(flag)]))

    def wait(self) -> None:
        """Until all processes are here."""
        if self.world_size > 1:
            dist.barrier()

    def broadcast_from_first(self, answer: Answer) -> Answer:
        """The first process's value, everywhere."""
        if self.world_size == 1:
            return answer
        box = [answer]
        dist.broadcast_object_list(box, src=0, device=self.device)
        return box[0]

    def from_first(self, compute: Callable[[], Answer]) -> Answer:
        """What the first process computes, everywhere; when it raises ValueError or OSError, so do all of them."""
        answer: Answer | None = None
        error: ValueError | OSError | None = None
        if self.first:
            try:
                answer = compute()
            except (ValueError, OSError) as caught:
                error = caught
        refusal, answer = self.broadcast_from_first((None if error is None else str(error), answer))
        if refusal is not None:
            raise error or ValueError(refusal)
        return cast("Answer", answer)

    def gather_state(self, state: BiLMState | None) -> BiLMState | None:
        """LSTM states of all streams, in their order, from each process's own."""
        if self.world_size == 1 or state is None:
            return state

        def whole(own: Tensor) -> Tensor:
            parts = [torch.empty_like(own) for _ in range(self.world_size)]
            dist.all_gather(parts, own.contiguous())
            return torch.cat(parts)

        return _map_state(state, whole)

    def share_state(self, state: BiLMState | None) -> BiLMState | None:
        """This process's part of the states of all streams."""
        if self.world_size == 1 or state is None:
            return state
        return _map_state(state, lambda whole: whole[self.share(len(whole))].clone())


@contextmanager
def join_ranks(device: torch.device) -> Generator[Ranks]:
    """The group that torchrun's environment describes, left again at the end; without torchrun, this process alone."""
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size == 1:
        yield Ranks(device=device)
        return
    if device.type == "cuda":  # each process of a machine has a GPU of its own
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Ranks(rank=dist.get_rank(), world_size=world_size, device=device)
    finally:
        dist.destroy_process_group()


def _map_state(state: BiLMState, change: Callable[[Tensor], Tensor]) -> BiLMState:
    def layers(side: tuple[LSTMState, ...]) -> tuple[LSTMState, ...]:
        return tuple(LSTMState(change(layer.cell), change(layer.output)) for layer in side)

    return BiLMState(layers(state.forward), layers(state.backward))
