"""The README's picture of a sense study, which is also on the demo's page: a self-contained SVG.

It has a scatter of the occurrences of each close-up's word, and the measured rates as bars; `picture.svg` draws them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.web.templates import template_environment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmokit.analysis.polysemy import SenseRates
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


@dataclass(frozen=True)
class Scatter:
    """The occurrences of a word in their principal plane."""

    word: str
    score: str
    legend: list[Mark]
    marks: list[Mark]


@dataclass(frozen=True)
class Bar:
    """A kind of vector and its rate."""

    name: str
    rate: str
    percent: str
    y: int
    width: float
    whisker: tuple[float, float] | None
    """Positions of the ends of the confidence interval; None for chance, which has no interval."""
    is_own: bool
    """Whether the vectors are the model's contextual ones, not a baseline."""


def sense_picture(study: SenseStudy) -> str:
    """The picture as SVG, from `templates/picture.svg`."""
    close_ups = study.close_ups
    width, height = PANEL
    num_rows = -(-(len(close_ups) + 1) // _COLUMNS)
    chance = study.measured[0].nearest_rate()
    return (
        template_environment("elmokit.web.demo")
        .get_template("picture.svg")
        .render(
            study=study,
            words=sorted({close_up.word for close_up in close_ups}),
            scatters=[_scatter(close_up, study) for close_up in close_ups],
            scatter_top=_SCATTER_TOP,
            bars=_bars(study.measured[1:]),
            bars_left=_BARS_LEFT,
            bars_top=_BARS_TOP,
            bars_end=_BARS_TOP + (len(study.measured) - 1) * _BAR_STEP - 6,
            chance=_position(chance.share),
            panel=PANEL,
            positions=[
                (_MARGIN + number % _COLUMNS * (width + _GAP), _MARGIN + number // _COLUMNS * (height + _GAP))
                for number in range(len(close_ups) + 1)
            ],
            sizes=sorted({len(close_up.members) for close_up in close_ups}),
            margin=_MARGIN,
            width=2 * _MARGIN + _COLUMNS * width + (_COLUMNS - 1) * _GAP,
            height=2 * _MARGIN + num_rows * (height + _GAP) - _GAP + 24,
        )
    )


def _scatter(close_up: CloseUp, study: SenseStudy) -> Scatter:
    occurrences = study.occurrences
    marks = [
        Mark(close_up.senses.index(occurrences[index].sense), x, y, " ".join(occurrences[index].tokens))
        for index, (x, y) in zip(close_up.members, _fit(close_up.points), strict=True)
    ]
    legend: list[Mark] = []
    left = 8.0
    for number, name in enumerate(close_up.senses):
        legend.append(Mark(number, left, 34, name))
        left += 34 + 7.5 * len(name)
    rate = study.top.nearest_rate(close_up.members)
    return Scatter(close_up.word, f"{round(rate.correct, 1):g}/{rate.total}", legend, marks)


def _fit(points: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Coordinates in the drawing, with the same scale on both axes, so that distances are comparable."""
    size = np.array([PANEL[0], PANEL[1] - _SCATTER_TOP])
    low, high = points.min(axis=0), points.max(axis=0)
    scale = float(((size - 2 * _SCATTER_MARGIN) / np.maximum(high - low, 1e-9)).min())
    placed = (points - (low + high) / 2) * scale * (1, -1) + size / 2
    return [(float(x), float(y)) for x, y in placed]


def _bars(measured: Sequence[SenseRates]) -> list[Bar]:
    bars: list[Bar] = []
    for number, kind in enumerate(measured):
        rate = kind.nearest_rate()
        low, high = map(_position, rate.interval)
        percent, whisker = f"{100 * rate.share:.1f} %", None if rate.guessed else (low, high)
        y, width = _BARS_TOP + number * _BAR_STEP, _position(rate.share) - _BARS_LEFT
        bars.append(Bar(kind.name, str(rate), percent, y=y, width=width, whisker=whisker, is_own=number >= 2))
    return bars


def _position(share: float) -> float:
    """Where a bar of this rate ends."""
    return _BARS_LEFT + (PANEL[0] - _BARS_LEFT - _BARS_RIGHT) * share
