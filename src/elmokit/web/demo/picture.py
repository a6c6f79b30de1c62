"""Layout of the drawings of a sense study: a scatter of a word's occurrences, and the measured rates as bars.

The templates draw them as SVG: `drawings.svg` has a macro for each, `picture.svg` puts them into one file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.web.demo.wording import nearest_share
from elmokit.web.templates import template_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.analysis.polysemy import SenseRates
    from elmokit.analysis.sense_study import Plane, SenseStudy

PANEL = (300, 232)
"""Width and height of one drawing."""
_SCATTER_TOP, _SCATTER_MARGIN = 46, 14
_BARS_LEFT, _BARS_RIGHT, _BARS_TOP, _BAR_STEP = 142, 46, 58, 29
_GAP, _MARGIN, _COLUMNS = 24, 20, 3  # of the panels in the picture


@dataclass(frozen=True)
class Mark:
    """The mark of an occurrence, in the shape and colour of its sense."""

    sense: int
    """Index of the sense among those of the word."""
    x: float
    y: float
    title: str
    """The sentence of the occurrence."""


@dataclass(frozen=True)
class Sense:
    """An entry of a legend."""

    name: str
    x: float
    """Position of the entry's mark."""


@dataclass(frozen=True)
class Scatter:
    """The occurrences of a word in their principal plane."""

    word: str
    score: str
    senses: list[Sense]
    marks: list[Mark]
    top: int
    """Height of the heading above the frame."""


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


@dataclass(frozen=True)
class Bars:
    """The share of occurrences whose nearest one has the same sense, for each kind of vector."""

    bars: list[Bar]
    num_sentences: int
    left: int
    chance: float
    """Position of the line that marks chance."""
    top: int
    end: int


def scatter(plane: Plane, study: SenseStudy) -> Scatter:
    """Lay out the occurrences of a word as a drawing of size `PANEL`."""
    width, height = PANEL
    occurrences = study.occurrences
    marks = [
        Mark(plane.senses.index(occurrences[index].sense), x, y, " ".join(occurrences[index].tokens))
        for index, (x, y) in zip(plane.members, _fit(plane, width, height - _SCATTER_TOP, _SCATTER_MARGIN), strict=True)
    ]
    senses: list[Sense] = []
    left = 8.0
    for name in plane.senses:
        senses.append(Sense(name, left))
        left += 34 + 7.5 * len(name)
    return Scatter(plane.word, nearest_share(study, plane.word), senses, marks, _SCATTER_TOP)


def bars(measured: Sequence[SenseRates]) -> Bars:
    """Lay out the rates as a drawing of size `PANEL`; chance, the first of them, is drawn as a line."""
    scale = PANEL[0] - _BARS_LEFT - _BARS_RIGHT
    drawn: list[Bar] = []
    for number, kind in enumerate(measured[1:]):
        rate = kind.nearest_rate()
        low, high = rate.interval
        drawn.append(
            Bar(
                name=kind.name,
                rate=str(rate),
                percent=f"{100 * rate.share:.1f} %",
                y=_BARS_TOP + number * _BAR_STEP,
                width=scale * rate.share,
                whisker=None if rate.guessed else (_BARS_LEFT + scale * low, _BARS_LEFT + scale * high),
                is_own=number >= 2,
            )
        )
    return Bars(
        bars=drawn,
        num_sentences=len(measured[0].nearest),
        left=_BARS_LEFT,
        chance=_BARS_LEFT + scale * measured[0].nearest_rate().share,
        top=_BARS_TOP,
        end=_BARS_TOP + (len(measured) - 1) * _BAR_STEP - 6,
    )


def sense_picture(study: SenseStudy) -> str:
    """A self-contained SVG of the scatters of the close-ups and the bars, from `templates/picture.svg`."""
    chosen = {close_up.word for close_up in study.close_ups}
    planes = [plane for plane in study.planes if plane.word in chosen]
    width, height = PANEL
    num_rows = -(-(len(planes) + 1) // _COLUMNS)
    return (
        template_environment("elmokit.web.demo")
        .get_template("picture.svg")
        .render(
            study=study,
            words=sorted(chosen),
            scatters=[scatter(plane, study) for plane in planes],
            bars=bars(study.measured),
            panel=PANEL,
            positions=[
                (_MARGIN + number % _COLUMNS * (width + _GAP), _MARGIN + number // _COLUMNS * (height + _GAP))
                for number in range(len(planes) + 1)
            ],
            sizes=sorted({len(plane.members) for plane in planes}),
            margin=_MARGIN,
            width=2 * _MARGIN + _COLUMNS * width + (_COLUMNS - 1) * _GAP,
            height=2 * _MARGIN + num_rows * (height + _GAP) - _GAP + 24,
        )
    )


def _fit(plane: Plane, width: float, height: float, margin: float) -> list[tuple[float, float]]:
    """Coordinates in the drawing, with the same scale on both axes, so that distances are comparable."""
    points = plane.points
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([width - 2 * margin, height - 2 * margin])
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    placed = (points - (low + high) / 2) * scale * (1, -1) + (width / 2, height / 2)
    return [(float(x), float(y)) for x, y in placed]
