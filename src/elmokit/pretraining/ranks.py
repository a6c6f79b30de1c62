"""Processes that train one model together, started by torchrun. Each has a share of the streams of every batch.

Gradients are computed outside `loss.backward()` (`gradients.py`), so DistributedDataParallel cannot average them.
Instead, each tensor gets one all-reduce (gloo between CPUs, nccl between GPUs). Every process makes the same step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor

from elmokit.model.bilm import BiLMState

Value = TypeVar("Value")

LONGEST_WAIT = timedelta(days=1)
"""Timeout of collectives. It is long because all others wait while the first process checks the text and evaluates.
nccl's default is ten minutes. If a process fails, torchrun ends the others at once."""


@dataclass(frozen=True)
class Ranks:
    """The number of this process, from 0, and the number of processes. A single process needs no torchrun."""

    device: torch.device
    rank: int = 0
    world_size: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the process that writes files and logs."""
        return self.rank == 0

    def share(self, batch_size: int) -> slice:
        """This process's streams. Raises ValueError if the streams cannot be split evenly."""
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
        """Mean of each number over all processes, the same in each."""
        if self.world_size == 1:
            return tuple(numbers)
        means = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        self.average([means])
        return tuple(cast("list[float]", means.tolist()))

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process, so that all of them stop at the same step."""
        return any(value > 0 for value in self.mean([float(flag)]))

    def from_first(self, compute: Callable[[], Value]) -> Value:
        """Compute in the first process, return the result in all. If it raises ValueError or OSError, all raise."""
        if self.world_size == 1:
            return compute()
        answer: Value | None = None
        error: ValueError | OSError | None = None
        if self.first:
            try:
                answer = compute()
            except (ValueError, OSError) as caught:
                error = caught
        box = [answer, None if error is None else str(error)]
        dist.broadcast_object_list(box, src=0, device=self.device)
        if box[1] is not None:
            raise error or ValueError(box[1])
        return cast("Value", box[0])

    def gather_state(self, state: BiLMState | None) -> BiLMState | None:
        """LSTM states of all streams in order, gathered from the processes."""
        if self.world_size == 1 or state is None:
            return state

        def whole(own: Tensor) -> Tensor:
            parts = [torch.empty_like(own) for _ in range(self.world_size)]
            dist.all_gather(parts, own.contiguous())
            return torch.cat(parts)

        return state.map(whole)

    def share_state(self, state: BiLMState | None) -> BiLMState | None:
        """This process's share of the LSTM states of all streams."""
        if self.world_size == 1 or state is None:
            return state
        return state.map(lambda whole: whole[self.share(len(whole))].clone())


@contextmanager
def join_ranks(device: torch.device) -> Generator[Ranks]:
    """Join the group that torchrun's environment describes, and leave it at the end. Without torchrun, do nothing."""
    world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if world_size == 1:
        yield Ranks(device=device)
        return
    if device.type == "mps":
        raise ValueError(f"{world_size} processes cannot share Apple's GPU; give device='cpu' (--device cpu)")
    if device.type == "cuda":  # each process of a machine has its own GPU
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=LONGEST_WAIT)
    try:
        yield Ranks(rank=dist.get_rank(), world_size=world_size, device=device)
    finally:
        dist.destroy_process_group()
