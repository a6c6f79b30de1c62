"""Embedding jobs that end before their end."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from elmokit.vectors.jobs.partial import PartialVectors


@contextmanager
def interrupted(*, after: int) -> Generator[None]:
    """Ctrl-C, as soon as this many blocks are kept."""
    append, blocks = PartialVectors.append, iter(range(after))

    def stop(partial: PartialVectors, block: Any, arrays: Any) -> None:
        if next(blocks, None) is None:
            raise KeyboardInterrupt
        append(partial, block, arrays)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(PartialVectors, "append", stop)
        yield
