"""The progress bar of everything that may take long: on a terminal, in a notebook, and as a line a minute elsewhere."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from typing import NoReturn, TextIO

from tqdm import tqdm

DELAY = 2  # seconds; what is done sooner shows no bar
LINE_EVERY = 60  # seconds
_TICK = 1  # seconds


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

    While nothing is counted, such as during one very long sentence, it shows the seconds.

    show: None shows the bar on a terminal and in a notebook, after two seconds, and a line each minute in a log file;
        True shows the bar everywhere and at once; False nothing.
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
        mininterval=math.inf if as_lines else 0.1,  # lines are the clock's alone
        maxinterval=math.inf if as_lines else 10,
        ncols=0 if as_lines else None,  # numbers without a bar
        dynamic_ncols=not as_lines,
    )
    if not bar.disable:
        _CLOCK.add(bar, every=LINE_EVERY if as_lines else 0)
    return bar


def shows_bars() -> bool:
    """Whether stderr can show a bar: a terminal or a notebook, but not a file or a terminal without columns."""
    if type(sys.stderr).__module__ == "ipykernel.iostream":
        return True
    try:
        return sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except OSError:  # it has no file of the system, such as a terminal inside an editor
        return True


@dataclass(frozen=True)
class _Lines:
    """What tqdm draws over and over, as lines of a file."""

    file: TextIO

    def write(self, text: str) -> None:
        if shown := text.strip():  # and not what clears a bar
            self.file.write(f"{shown}\n")

    def flush(self) -> None:
        self.file.flush()


class _Clock:
    """Shows the open bars again every second, or less often, in a thread that ends when there are none."""

    def __init__(self) -> None:
        self._bars: weakref.WeakKeyDictionary[tqdm[NoReturn], tuple[float, float]] = weakref.WeakKeyDictionary()
        """Of each bar, the seconds between two of its lines, and when the last one was shown."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, bar: tqdm[NoReturn], *, every: float) -> None:
        with self._lock:
            self._bars[bar] = every, time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(_TICK)
            now = time.monotonic()
            with self._lock:
                bars = [bar for bar in self._bars if not bar.disable]  # a closed one is disabled
                if not bars:
                    self._thread = None
                    return
                due = [bar for bar in bars if now - self._bars[bar][1] >= self._bars[bar][0]]
                self._bars.update({bar: (self._bars[bar][0], now) for bar in due})
            for bar in due:
                with bar.get_lock():
                    if not bar.disable and time.time() - bar.start_t >= bar.delay:
                        bar.display()


_CLOCK = _Clock()
