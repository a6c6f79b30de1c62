"""Memory that the process has freed goes back to the machine; the allocator would keep it for later."""

from __future__ import annotations

import ctypes
import sys


def give_back_freed_memory() -> None:
    """What glibc calls `malloc_trim`; nothing on other systems. It takes about a millisecond."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
