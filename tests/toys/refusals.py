"""Errors for wrong input, as text for a snapshot: a family of messages is reviewed together, word for word."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest


def refusals(call: Callable[[Any], object], given: Iterable[object], *, folder: Path | None = None) -> list[str]:
    """The errors that a call raises for each of these, with FOLDER in place of the test's folder."""
    said: list[str] = []
    for each in given:
        with pytest.raises((ValueError, OSError)) as refusal:
            call(each)
        message = str(refusal.value) if folder is None else str(refusal.value).replace(str(folder), "FOLDER")
        said.append(f"{type(refusal.value).__name__}: {message}")
    return said


def refused_options(
    call: Callable[..., object], options: Iterable[dict[str, Any]], *, folder: Path | None = None
) -> list[str]:
    """The same for named arguments."""
    return refusals(lambda given: call(**given), options, folder=folder)


def refused_files(read: Callable[[Path], object], path: Path, contents: Iterable[str | bytes]) -> list[str]:
    """The same for contents of a file."""

    def write_and_read(content: str | bytes) -> None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        read(path)

    return refusals(write_and_read, contents, folder=path.parent)
