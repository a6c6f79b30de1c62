"""Pictures of the findings as SVG: a scatter of a word's occurrences, and the measured rates as bars."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.analysis.findings import Findings, Plane
    from elmokit.analysis.polysemes import Occurrence
    from elmokit.analysis.polysemy import Measured

PANEL = (300, 232)
"""Width and height of one drawing."""

COLOURS = """
  --paper: #ffffff; --ink: #1b2330; --soft: #5b6675; --line: #d5dae1; --frame: #f6f7f9;
  --first: #1767a8; --second: #b4450f; --third: #2e7d32; --bar: #a9b6c4; --own: #5b9bd0;
"""
DARK_COLOURS = """
  --paper: #14181e; --ink: #e8ebef; --soft: #a2acb9; --line: #3a434f; --frame: #1c222a;
  --first: #6fb7f0; --second: #f2955c; --third: #7fc983; --bar: #5f748b; --own: #6fb7f0;
"""
STYLE = """
  svg text { font-family: system-ui, sans-serif; font-size: 12px; fill: var(--ink); }
  svg .word { font-size: 15px; font-weight: 600; }
  svg .soft { fill: var(--soft); font-size: 11px; }
  svg .frame { fill: var(--frame); stroke: var(--line); }
  svg .sense0 { fill: var(--first); } svg .sense1 { fill: var(--second); } svg .sense2 { fill: var(--third); }
  svg .mark { stroke: var(--frame); stroke-width: 1; }
  svg .bar { fill: var(--bar); } svg .own { fill: var(--own); }
  svg .whisker { stroke: var(--ink); stroke-width: 1.2; } svg .chance { stroke: var(--soft); stroke-dasharray: 3 3; }
"""

_MARKS = (
    '<circle class="mark sense0" cx="{x}" cy="{y}" r="5">{title}</circle>',
    '<path class="mark sense1" d="M{x} {y}m0 -6.5l6.5 6.5l-6.5 6.5l-6.5 -6.5z">{title}</path>',
    '<path class="mark sense2" d="M{x} {y}m0 -6l6 10.5h-12z">{title}</path>',
)
"""A sense is told by the form, not by colour alone."""


def scatter(plane: Plane, occurrences: Sequence[Occurrence], *, note: str) -> str:
    """The occurrences of a word in their principal plane: a group of PANEL's size, its sentences as hover titles."""
    width, height = PANEL
    top, margin = 46, 14
    marks = "".join(
        _mark(plane.senses.index(occurrences[index].sense), x, y, " ".join(occurrences[index].tokens))
        for index, (x, y) in zip(plane.members, _fit(plane, width, height - top, margin), strict=True)
    )
    legend: list[str] = []
    left = 8.0
    for number, sense in enumerate(plane.senses):
        legend.append(_mark(number, left, 34, None))
        legend.append(f'<text x="{left + 11:g}" y="38">{escape(sense)}</text>')
        left += 34 + 7.5 * len(sense)
    frame = f'<rect class="frame" width="{width}" height="{height - top}" rx="6"/>'
    return (
        f'<text class="word" x="2" y="18">{escape(plane.word)}</text>'
        f'<text class="soft" x="{width - 2}" y="18" text-anchor="end">{escape(note)}</text>{"".join(legend)}'
        f'<g transform="translate(0 {top})">{frame}{marks}</g>'
    )


def bars(measured: Sequence[Measured]) -> str:
    """The share of occurrences whose nearest one has the same sense, with intervals: a group of PANEL's size."""
    width, _ = PANEL
    left, right, top, step = 142, 46, 58, 29
    scale = width - left - right
    rows: list[str] = []
    for number, one in enumerate(measured[1:]):
        rate = one.nearest_rate()
        low, high = rate.interval
        y = top + number * step
        whisker = f'<path class="whisker" d="M{left + scale * low:.1f} {y + 9}H{left + scale * high:.1f}"/>'
        style = "own" if number >= 2 else "bar"
        rows.append(
            f'<text x="{left - 8}" y="{y + 13}" text-anchor="end">{escape(one.name)}</text>'
            f'<rect class="{style}" x="{left}" y="{y}" width="{scale * rate.share:.1f}" height="18" rx="2">'
            f"<title>{escape(f'{one.name}: {rate}')}</title></rect>"
            f"{whisker if not rate.guessed else ''}"
            f'<text x="{width}" y="{y + 13}" text-anchor="end">{100 * rate.share:.1f} %</text>'
        )
    guess = left + scale * measured[0].nearest_rate().share
    end = top + (len(measured) - 1) * step - 6
    note = f"all {len(measured[0].nearest)} sentences, 95 % intervals; dashed: chance"
    return (
        '<text class="word" x="2" y="18">Nearest one has the same sense</text>'
        f'<text class="soft" x="2" y="38">{note}</text>'
        f'{"".join(rows)}<path class="chance" d="M{guess:.1f} {top - 5}V{end}"/>'
    )


def picture(findings: Findings) -> str:
    """The close-ups' scatters and the bars, as one file that can stand by itself."""
    chosen = {close_up.word for close_up in findings.close_ups}
    panels = [
        scatter(plane, findings.occurrences, note=score(findings, plane.word))
        for plane in findings.planes
        if plane.word in chosen
    ]
    panels.append(bars(findings.measured))
    width, height, gap, margin = *PANEL, 24, 20
    columns = 3
    num_rows = -(-len(panels) // columns)
    total = (2 * margin + columns * width + (columns - 1) * gap, 2 * margin + num_rows * (height + gap) - gap + 24)
    placed = "".join(
        f'<g transform="translate({margin + number % columns * (width + gap)} '
        f'{margin + number // columns * (height + gap)})">{panel}</g>'
        for number, panel in enumerate(panels)
    )
    sizes = sorted({len(plane.members) for plane in findings.planes if plane.word in chosen})
    note = (
        f"{findings.model}: each mark is one sentence's vector of the word, seen from where they differ most (PCA); "
        f"{', '.join(f'n/{size}' for size in sizes)}: nearest one has the same sense"
    )
    label = (
        f"Scatter plots of the occurrences of {', '.join(sorted(chosen))} by sense, and bars: the nearest one has the "
        f"same sense in {findings.top.nearest_rate().percent()} of {len(findings.occurrences)} sentences"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total[0]} {total[1]}" width="{total[0]}" '
        f'height="{total[1]}" role="img" aria-label="{escape(label)}"><style>svg {{{COLOURS}}}'
        f"@media (prefers-color-scheme: dark) {{ svg {{{DARK_COLOURS}}} }}{STYLE}</style>"
        f'<rect width="{total[0]}" height="{total[1]}" fill="var(--paper)"/>{placed}'
        f'<text class="soft" x="{margin}" y="{total[1] - 14}">{escape(note)}</text></svg>\n'
    )


def score(findings: Findings, word: str) -> str:
    """As in `15/16`: of the word's occurrences, those whose nearest one has the same sense, by the top layer."""
    rate = findings.top.nearest_rate(findings.members(word))
    return f"{round(rate.correct, 1):g}/{rate.total}"


def _fit(plane: Plane, width: float, height: float, margin: float) -> list[tuple[float, float]]:
    """Both axes on one scale, since distances are what there is to see."""
    points = plane.points
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.array([width - 2 * margin, height - 2 * margin])
    scale = float((room / np.maximum(high - low, 1e-9)).min())
    placed = (points - (low + high) / 2) * scale * (1, -1) + (width / 2, height / 2)
    return [(float(x), float(y)) for x, y in placed]


def _mark(sense: int, x: float, y: float, title: str | None) -> str:
    text = "" if title is None else f"<title>{escape(title)}</title>"
    return _MARKS[sense % len(_MARKS)].format(x=f"{x:.1f}", y=f"{y:.1f}", title=text)
