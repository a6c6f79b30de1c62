"""Embedding jobs that end before their end."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from elmokit.vectors.writer import Writer


@contextmanager
def interrupted(*, after: int) -> Generator[None]:
    """Ctrl-C, as soon as this many blocks are kept."""
    append, blocks = Writer.append, iter(range(after))

    def stop(writer: Writer, start: int, arrays: Any) -> None:
        if next(blocks, None) is None:
            raise KeyboardInterrupt
        append(writer, start, arrays)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Writer, "append", stop)
        yield
