"""A figure of matplotlib -> the contents of picture files, the same for the same figure."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from elmokit.system.python import require

STYLE = MappingProxyType(
    {
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "elmokit",  # the same runs give the same file
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)
DOTS_PER_INCH = 150
METADATA: Mapping[str, Mapping[str, str | None]] = MappingProxyType(
    {"svg": {"Date": None, "Creator": "elmokit"}, "png": {"Software": "elmokit"}}
)


def new_figure(size: tuple[float, float]) -> Any:
    """A `matplotlib.figure.Figure` of that width and height in inches. Raises ValueError without matplotlib."""
    return require("matplotlib.figure", extra="plots", purpose="a figure").Figure(figsize=size, layout="constrained")


def pictures(
    draw: Callable[[], Any], *, endings: Sequence[str] = ("svg", "png"), style: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, bytes]:
    """What `draw` returns as the contents of a file for each ending; the same figure gives the same SVG.

    style: settings of matplotlib that are added to `STYLE`. Raises ValueError without matplotlib.
    """
    matplotlib = require("matplotlib", extra="plots", purpose="a figure")
    contents: dict[str, bytes] = {}
    with matplotlib.rc_context({**STYLE, **style}):
        figure = draw()
        for ending in endings:
            file = io.BytesIO()
            figure.savefig(file, format=ending, dpi=DOTS_PER_INCH, metadata=METADATA[ending])
            contents[ending] = file.getvalue()
    return contents
