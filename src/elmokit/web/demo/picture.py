"""The README's picture of a sense study, which is also on the demo's page: a self-contained SVG.

It has a scatter of the occurrences of each close-up's word, and the measured rates as bars; `picture.svg` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.web.templates import template_environment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmokit.analysis.sense_study import CloseUp, SenseStudy

PANEL = (300, 232)
"""Width and height of one drawing."""
_SCATTER_TOP, _SCATTER_MARGIN = 46, 14
_BARS_LEFT, _BARS_RIGHT, _BARS_TOP, _BAR_STEP = 142, 46, 58, 29
_GAP, _MARGIN, _COLUMNS = 24, 20, 3  # of the panels in the picture


@dataclass(frozen=True)
class Mark:
    """The mark of an occurrence, or of an entry of the legend, in the shape and colour of its sense."""

    sense: int
    """Index of the sense among those of the word."""
    x: float
    y: float
    text: str
    """The sentence of the occurrence, or the name of the sense."""


def sense_picture(study: SenseStudy) -> str:
    """The picture as SVG, from `templates/picture.svg`."""
    num_panels = len(study.close_ups) + 1
    width, height = PANEL
    num_rows = -(-num_panels // _COLUMNS)
    return (
        template_environment("elmokit.web.demo")
        .get_template("picture.svg")
        .render(
            study=study,
            words=sorted({close_up.word for close_up in study.close_ups}),
            scatters=[(close_up, _legend(close_up), _marks(close_up, study)) for close_up in study.close_ups],
            scatter_top=_SCATTER_TOP,
            rates=[(kind.name, kind.nearest_rate()) for kind in study.measured],
            bars_left=_BARS_LEFT,
            bars_top=_BARS_TOP,
            bar_step=_BAR_STEP,
            end_of=_end_of,
            panel=PANEL,
            positions=[
                (_MARGIN + number % _COLUMNS * (width + _GAP), _MARGIN + number // _COLUMNS * (height + _GAP))
                for number in range(num_panels)
            ],
            sizes=sorted({len(close_up.members) for close_up in study.close_ups}),
            margin=_MARGIN,
            width=2 * _MARGIN + _COLUMNS * width + (_COLUMNS - 1) * _GAP,
            height=2 * _MARGIN + num_rows * (height + _GAP) - _GAP + 24,
        )
    )


def _legend(close_up: CloseUp) -> list[Mark]:
    marks: list[Mark] = []
    left = 8.0
    for number, name in enumerate(close_up.senses):
        marks.append(Mark(number, left, 34, name))
        left += 34 + 7.5 * len(name)
    return marks


def _marks(close_up: CloseUp, study: SenseStudy) -> list[Mark]:
    """The occurrences of a word in their principal plane."""
    found = (study.occurrences[index] for index in close_up.members)
    return [
        Mark(close_up.senses.index(occurrence.sense), x, y, " ".join(occurrence.tokens))
        for occurrence, (x, y) in zip(found, _fit(close_up.points), strict=True)
    ]


def _fit(points: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Coordinates in the drawing, with the same scale on both axes, so that distances are comparable."""
    size = np.array([PANEL[0], PANEL[1] - _SCATTER_TOP])
    low, high = points.min(axis=0), points.max(axis=0)
    scale = float(((size - 2 * _SCATTER_MARGIN) / np.maximum(high - low, 1e-9)).min())
    placed = (points - (low + high) / 2) * scale * (1, -1) + size / 2
    return [(float(x), float(y)) for x, y in placed]


def _end_of(share: float) -> float:
    """Where a bar of this rate ends."""
    return _BARS_LEFT + (PANEL[0] - _BARS_LEFT - _BARS_RIGHT) * share
