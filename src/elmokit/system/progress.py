"""The progress bar of everything that may take long."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tqdm import tqdm

if TYPE_CHECKING:
    from typing import NoReturn

DELAY = 2  # seconds; what is done sooner shows no bar


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

    show: None shows the bar only on a terminal, after two seconds; True everywhere and at once; False never.
    keep: whether the bar stays on the screen when it ends.
    scale: whether 1,200,000 is written as 1.2M.
    """
    only_on_a_terminal = None  # in tqdm's words
    return tqdm(
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
