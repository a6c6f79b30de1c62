"""The progress bar of everything that may take long."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from typing import NoReturn

from tqdm import tqdm

DELAY = 2  # seconds; what is done sooner shows no bar
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

    show: None shows the bar only on a terminal, after two seconds; True everywhere and at once; False never.
    keep: whether the bar stays on the screen when it ends.
    scale: whether 1,200,000 is written as 1.2M.
    """
    only_on_a_terminal = None  # in tqdm's words
    bar: tqdm[NoReturn] = tqdm(
        total=total,
        initial=done,
        desc=label,
        unit=unit,
        unit_scale=scale,
        leave=keep,
        delay=DELAY if show is None else 0,
        disable=only_on_a_terminal if show is None else not show,
        file=sys.stderr,
        dynamic_ncols=True,
    )
    if not bar.disable:
        _CLOCK.add(bar)
    return bar


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
