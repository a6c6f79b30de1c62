"""The progress bar of everything that may take long."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, NoReturn

from tqdm import tqdm

if TYPE_CHECKING:
    _Bar = tqdm[NoReturn]
else:
    _Bar = tqdm  # has no [] when it runs

DELAY = 2  # seconds; what is done sooner shows no bar
LOG_EVERY = 60  # seconds between the lines in a file
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
    log: bool = False,
) -> tqdm[NoReturn]:
    """A progress bar on stderr that counts `unit`s from `done` up to `total`; a context manager with `update`.

    While nothing is counted, such as during one very long sentence, it shows the seconds.

    show: None shows the bar only on a terminal and in a notebook, after two seconds; True everywhere and at once;
        False never.
    keep: whether the bar stays on the screen when it ends.
    scale: whether 1,200,000 is written as 1.2M.
    log: whether a line is written each minute where no bar is shown, unless `show` is False.
    """
    is_shown = _shows_bars() if show is None else show
    if log and show is None and not is_shown:
        return _Lines(
            total=total,
            initial=done,
            desc=label,
            unit=unit,
            unit_scale=scale,
            mininterval=LOG_EVERY,
            maxinterval=LOG_EVERY,
            delay=LOG_EVERY,
            file=sys.stderr,
        )
    bar: tqdm[NoReturn] = tqdm(
        total=total,
        initial=done,
        desc=label,
        unit=unit,
        unit_scale=scale,
        leave=keep,
        delay=DELAY if show is None else 0,
        disable=not is_shown,
        file=sys.stderr,
        dynamic_ncols=True,
    )
    if not bar.disable:
        _CLOCK.add(bar)
    return bar


def _shows_bars() -> bool:
    """Whether stderr is a terminal that has columns, which some of containers have not, or part of a notebook."""
    if "ipykernel" in sys.modules:
        return True
    if not sys.stderr.isatty():
        return False
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except (OSError, ValueError):
        return True


class _Lines(_Bar):
    """What a bar says, as lines of a log."""

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        self.fp.write(f"{self}\n")
        self.fp.flush()

    def close(self) -> None:
        self.delay = math.inf  # as if nothing had been shown: there is nothing to clear
        super().close()


class _Clock:
    """Shows the open bars again every second, in a thread that ends when there are none."""

    def __init__(self) -> None:
        self._bars: weakref.WeakSet[tqdm[NoReturn]] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, bar: tqdm[NoReturn]) -> None:
        with self._lock:
            self._bars.add(bar)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            time.sleep(_TICK)
            with self._lock:
                bars = [bar for bar in self._bars if not bar.disable]  # a closed one is disabled
                if not bars:
                    self._thread = None
                    return
            for bar in bars:
                with bar.get_lock():
                    if not bar.disable and time.time() - bar.start_t >= bar.delay:
                        bar.display()


_CLOCK = _Clock()
