"""Random numbers from a seed, without a trace in the program that asks for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def seeded(seed: int) -> Generator[None]:
    """Context in which new tensors are on the CPU and random numbers follow from the seed; then all is as before.

    `torch.manual_seed` would set the generators of all GPUs as well, and leave them so.
    """
    with torch.device("cpu"), torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        yield
