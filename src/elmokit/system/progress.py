"""The progress bar of everything that takes long."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tqdm import tqdm

if TYPE_CHECKING:
    from typing import NoReturn

DELAY = 2  # seconds, so that what is quickly done shows nothing


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
    """A bar on stderr that counts `unit`s up to `total`, from the `done` ones on; a context manager with `update`.

    With `show` None it appears on a terminal only, after two seconds; True shows it everywhere at once, False never.
    `keep` leaves it on the screen when it ends, `scale` writes 1.2M for 1,200,000.
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
