"""Two functions at once, each with half of torch's threads: products that are too small to be shared by all of them."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")


def run_in_parallel(first: Callable[[], R], second: Callable[[], R]) -> list[R]:
    """The results of both, in order; with one thread alone, one after the other. No gradients."""
    num_threads = torch.get_num_threads()
    if num_threads < 2:
        return [first(), second()]

    def without_gradients(function: Callable[[], R]) -> R:
        with torch.inference_mode():
            return function()

    return list(_workers(num_threads, os.getpid()).map(without_gradients, (first, second)))


@cache
def _workers(num_threads: int, process: int) -> ThreadPoolExecutor:
    """Two threads of this process; a forked one does not have those of its parent."""
    workers = ThreadPoolExecutor(2, initializer=_set_num_threads, initargs=(num_threads // 2,))
    have_begun = threading.Barrier(3)
    for _ in range(2):
        workers.submit(have_begun.wait)
    have_begun.wait()
    torch.set_num_threads(num_threads)  # what the workers chose would be the default of the next new thread
    return workers


def _set_num_threads(number: int) -> None:
    torch.get_num_threads()  # when it is first asked, a thread takes over the default
    torch.set_num_threads(number)
