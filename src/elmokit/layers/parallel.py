"""Threads: a lock for what they share, and a way to run two functions at once, each with half of torch's threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import torch

from elmokit.layers.devices import for_inference

R = TypeVar("R")

STATE_LOCK = threading.RLock()
"""Held while something that threads share changes: packed weights, remembered tokens, torch's engine. A fork waits for
this lock; otherwise the child would wait forever for a thread that it does not have."""
if hasattr(os, "register_at_fork"):  # not on Windows
    _release = STATE_LOCK.release
    os.register_at_fork(before=STATE_LOCK.acquire, after_in_parent=_release, after_in_child=_release)


def run_in_parallel(first: Callable[[], R], second: Callable[[], R]) -> list[R]:
    """Results of both functions, in order, without gradients. With a single thread, they run one after the other.

    For products that are too small to use all threads.
    """
    num_threads = torch.get_num_threads()
    if num_threads < 2:
        return [first(), second()]

    def without_gradients(function: Callable[[], R]) -> R:
        with for_inference():
            return function()

    return list(two_workers(num_threads).map(without_gradients, (first, second)))


def two_workers(num_threads: int) -> ThreadPoolExecutor:
    """Two worker threads, each with half of `num_threads` for torch's products. Other threads keep their number."""
    return _workers(num_threads, os.getpid())


@cache
def _workers(num_threads: int, process: int) -> ThreadPoolExecutor:
    """The workers of this process. A forked process does not inherit its parent's threads."""
    workers = ThreadPoolExecutor(2, initializer=_set_num_threads, initargs=(num_threads // 2,))
    have_begun = threading.Barrier(3)
    for _ in range(2):
        workers.submit(have_begun.wait)
    have_begun.wait()
    torch.set_num_threads(num_threads)  # otherwise the next new thread would default to the workers' number
    return workers


def _set_num_threads(number: int) -> None:
    torch.get_num_threads()  # the first call in a thread adopts the default; it must come before the next line
    torch.set_num_threads(number)
