"""Disks that fail: one that is full, and calls that end in an error of the system."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def files_of_at_most(num_bytes: int) -> Iterator[None]:
    """In this process, a longer file raises OSError, "File too large"; Python ignores the signal that comes with it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def failing(number: int) -> Callable[..., None]:
    """A function that replaces a system call and raises the OSError of this number."""

    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail
