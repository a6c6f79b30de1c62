"""What the process does with memory that it has freed: give it back, or keep it for the next of the same size."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


def give_back_freed_memory() -> None:
    """What glibc calls `malloc_trim`; nothing on other systems. It takes about a millisecond."""
    trim = _of_the_allocator("malloc_trim")
    if trim is not None:
        trim(0)


def keep_freed_memory() -> None:
    """Make glibc keep what is freed, so that memory of every step is not fetched, zeroed and given back each time.

    Nothing on other systems. It holds for the whole process and to its end, so the command line asks for it, not the
    library.
    """
    set_option = _of_the_allocator("mallopt")
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, 1 << 30)
        set_option(_M_TRIM_THRESHOLD, 2**31 - 1)


def _of_the_allocator(name: str) -> Callable[..., int] | None:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
