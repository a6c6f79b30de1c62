"""The progress bar of long tasks: a bar on a terminal or in a notebook, and one line per minute elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NoReturn, TextIO, TypeVar

from tqdm import tqdm

T = TypeVar("T")

DELAY = 2  # seconds; shorter work shows no bar
LINE_EVERY = 60  # seconds


def progress_bar(
    *,
    unit: str,
    total: int | None = None,
    done: int = 0,
    label: str | None = None,
    show: bool | None = None,
    keep: bool = True,
    scale: bool = False,
) -> tqdm[NoReturn]:
    """A progress bar on stderr that counts `unit`s from `done` up to `total`; a context manager with `update`.

    show: None shows a bar on a terminal or in a notebook, after two seconds, and one line per minute in a log file.
        True shows the bar everywhere and at once. False shows nothing.
    keep: whether the bar stays on the screen when it ends.
    scale: whether 1,200,000 is written as 1.2M.
    """
    as_lines = show is None and not shows_bars()
    bar: tqdm[NoReturn] = tqdm(
        total=total,
        initial=done,
        desc=label,
        unit=unit,
        unit_scale=scale,
        leave=keep and not as_lines,
        position=0 if as_lines else None,  # without moving a cursor
        delay=DELAY if show is None else 0,
        disable=show is False,
        file=_Lines(sys.stderr) if as_lines else sys.stderr,
        mininterval=LINE_EVERY if as_lines else 0.1,
        maxinterval=LINE_EVERY if as_lines else 10,
        ncols=0 if as_lines else None,  # numbers without a bar
        dynamic_ncols=not as_lines,
    )
    return bar


def counted(items: Iterable[T], bar: tqdm[NoReturn]) -> Iterator[T]:
    """Yield the items. The bar counts an item when the next one is requested, and closes at the end."""
    with bar:
        for item in items:
            yield item
            bar.update()


def shows_bars() -> bool:
    """Whether stderr can show a bar: a terminal or a notebook, but not a file or a terminal without columns."""
    if type(sys.stderr).__module__ == "ipykernel.iostream":
        return True
    try:
        return sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except OSError:  # stderr has no file descriptor, for example in a terminal inside an editor
        return True


@dataclass(frozen=True)
class _Lines:
    """Writes each state of the bar, which tqdm redraws in place, as a line of a file."""

    file: TextIO

    def write(self, text: str) -> None:
        if shown := text.strip():  # skips what only clears a bar
            self.file.write(f"{shown}\n")

    def flush(self) -> None:
        self.file.flush()
