"""Training curves as SVG: perplexity against tokens read, of the training text and of held-out text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from elmokit.report.run_history import RunHistory

HEADING = "Perplexity while training"
WIDTH = 760
LEFT, RIGHT = 58, 20  # beside the frame
FRAME_HEIGHT = 320
ROW = 21  # of the legend

MOST_POINTS = 300  # of a line
MOST_MARKS = 40  # on a line
MOST_LETTERS = 26  # of a run's name in the legend
HIGHEST = 1e30  # perplexities above it are drawn there

COLOURS = """
  --paper: #ffffff; --ink: #1b2330; --soft: #5b6675; --line: #d5dae1; --frame: #f6f7f9;
  --run0: #1767a8; --run1: #b4450f; --run2: #2e7d32; --run3: #7b3fa0; --run4: #806600; --run5: #b0235f;
"""
DARK_COLOURS = """
  --paper: #14181e; --ink: #e8ebef; --soft: #a2acb9; --line: #3a434f; --frame: #1c222a;
  --run0: #6fb7f0; --run1: #f2955c; --run2: #7fc983; --run3: #c79be8; --run4: #d9bd4a; --run5: #f08bb4;
"""
NUM_COLOURS = 6
STYLE = """
  svg text { font-family: system-ui, sans-serif; font-size: 12px; fill: var(--ink); }
  svg .heading { font-size: 16px; font-weight: 600; } svg .name { font-weight: 600; }
  svg .soft { fill: var(--soft); font-size: 11px; }
  svg .frame { fill: var(--frame); stroke: var(--line); } svg .grid { stroke: var(--line); }
  svg .training, svg .heldout { fill: none; stroke: var(--own); stroke-linejoin: round; }
  svg .training { stroke-width: 1.3; opacity: 0.75; } svg .heldout { stroke-width: 2.2; }
  svg .mark { fill: var(--own); stroke: var(--frame); stroke-width: 1; } svg .dashed { stroke-dasharray: 7 3; }
"""
_WITHIN_A_DECADE: tuple[tuple[float, ...], ...] = (
    tuple(twentieth / 20 for twentieth in range(20, 200)),
    tuple(half / 2 for half in range(2, 20)),
    (1, 1.5, 2, 3, 4, 5, 6, 8),
    (1, 2, 5),
    (1, 3),
    (1,),
)
"""Ticks of a log axis, the finest first."""

_MARKS = (
    '<circle class="mark" cx="{x}" cy="{y}" r="4.5">{title}</circle>',
    '<path class="mark" d="M{x} {y}m0 -6l6 6l-6 6l-6 -6z">{title}</path>',
    '<path class="mark" d="M{x} {y}m0 -6l5.5 9.5h-11z">{title}</path>',
)
"""A run is told by the form, not by colour alone."""


def training_curve(histories: Sequence[RunHistory]) -> str:
    """A line of the training perplexity for each run, and one with marks of the held-out perplexity if it has any.

    Lines are not smoothed; long ones are thinned out evenly, first and last point kept. Raises ValueError for a run
    with fewer than two training lines.
    """
    for history in histories:
        if len(history.training) < 2:
            raise ValueError(
                f"{history.name} has logged {len(history.training)} training lines, and a curve needs 2: wait until it "
                "has logged more (it does so every log_every steps)"
            )
    runs = [_Run.of(history) for history in histories]
    points = [point for run in runs for point in (*run.training, *run.heldout)]
    perplexities = [perplexity for _, perplexity in points]
    axes = _Axes(
        most_millions=max(max(millions for millions, _ in points), 1e-6),
        ticks=perplexity_ticks(min(perplexities) / 1.03, max(perplexities) * 1.03),
    )
    top = 48 + ROW * len(runs) + 26
    legend = "".join(_legend(run, number, 48 + ROW * number) for number, run in enumerate(runs))
    lines = "".join(_lines(run, number, axes) for number, run in enumerate(runs))
    notes = _notes(runs)
    height = top + FRAME_HEIGHT + 58 + 16 * len(notes)
    written = "".join(
        f'<text class="soft" x="{LEFT}" y="{top + FRAME_HEIGHT + 64 + 16 * number}">{escape(note)}</text>'
        for number, note in enumerate(notes)
    )
    description = f"Perplexity on a logarithmic axis against millions of tokens read. {' '.join(map(_in_words, runs))}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="training-curve-title training-curve-description">'
        f'<title id="training-curve-title">{HEADING}</title>'
        f'<desc id="training-curve-description">{escape(description)}</desc><style>svg {{{COLOURS}}}'
        f"@media (prefers-color-scheme: dark) {{ svg {{{DARK_COLOURS}}} }}{STYLE}</style>"
        f'<rect width="{WIDTH}" height="{height}" fill="var(--paper)"/>'
        f'<text class="heading" x="{LEFT}" y="28">{HEADING}</text>{legend}'
        f'<text class="soft" x="{LEFT}" y="{top - 9}">perplexity (log scale; lower is better)</text>'
        f'<g transform="translate({LEFT} {top})">{axes.drawn()}{lines}</g>{written}</svg>\n'
    )


def round_ticks(most: float) -> list[float]:
    """From 0 to at most `most`: up to nine multiples of 1, 2 or 5 times a power of ten."""
    unit = 10.0 ** math.floor(math.log10(most / 8))
    step = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= most / 8 * (1 - 1e-9))
    return [number * step for number in range(math.floor(most / step + 1e-9) + 1)]


def perplexity_ticks(low: float, high: float) -> list[float]:
    """At most nine round numbers where it can be, from the last one up to `low` to the first one from `high` on."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = math.ceil((last - first) / 8)
    decades = range(first, last + every, every)
    chosen: list[float] = []
    for within in _WITHIN_A_DECADE:
        ticks = [factor * 10.0**decade for decade in decades for factor in within]
        start = max(number for number, tick in enumerate(ticks) if tick <= low)
        end = min(number for number, tick in enumerate(ticks) if tick >= high)
        chosen = ticks[start : end + 1]
        if len(chosen) <= 9:
            break
    return chosen


@dataclass(frozen=True)
class _Run:
    """What is drawn of a history: points of (millions of tokens, perplexity)."""

    name: str
    softmax: str | None
    training: list[tuple[float, float]]
    heldout: list[tuple[float, float]]

    @classmethod
    def of(cls, history: RunHistory) -> _Run:
        return cls(
            name=history.name,
            softmax=None if history.config is None else history.config.softmax,
            training=[(line.num_tokens / 1e6, min(line.perplexity, HIGHEST)) for line in history.training],
            heldout=[(line.num_tokens / 1e6, min(line.mean, HIGHEST)) for line in history.evaluations],
        )


@dataclass(frozen=True)
class _Axes:
    most_millions: float
    ticks: list[float]
    """Of the perplexity; the frame ends at the first and the last."""

    def x(self, millions: float) -> float:
        return (WIDTH - LEFT - RIGHT) * millions / (self.most_millions * 1.015)

    def y(self, perplexity: float) -> float:
        low, high = math.log(self.ticks[0]), math.log(self.ticks[-1])
        return FRAME_HEIGHT * (high - math.log(perplexity)) / (high - low)

    def place(self, point: tuple[float, float]) -> tuple[str, str]:
        return f"{self.x(point[0]):.1f}", f"{self.y(point[1]):.1f}"

    def drawn(self) -> str:
        """Frame, grid, numbers and the name of the x axis."""
        width = WIDTH - LEFT - RIGHT
        parts = [f'<rect class="frame" width="{width}" height="{FRAME_HEIGHT}" rx="6"/>']
        for tick in self.ticks:
            y = self.y(tick)
            parts.append(f'<text x="-8" y="{y + 4:.1f}" text-anchor="end">{tick:,.6g}</text>')
            if tick not in (self.ticks[0], self.ticks[-1]):
                parts.append(f'<path class="grid" d="M0 {y:.1f}H{width}"/>')
        for tick in round_ticks(self.most_millions):
            x = self.x(tick)
            parts.append(f'<path class="grid" d="M{x:.1f} {FRAME_HEIGHT}v5"/>')
            parts.append(f'<text x="{x:.1f}" y="{FRAME_HEIGHT + 19}" text-anchor="middle">{tick:,.6g}</text>')
        middle = f'x="{width / 2:g}" y="{FRAME_HEIGHT + 38}" text-anchor="middle"'
        parts.append(f'<text class="soft" {middle}>millions of tokens read</text>')
        return "".join(parts)


def _lines(run: _Run, number: int, axes: _Axes) -> str:
    parts: list[str] = []
    for kind, points in (("training", run.training), ("heldout", run.heldout)):
        if points:
            placed = " ".join(",".join(axes.place(point)) for point in _thinned(points, MOST_POINTS))
            parts.append(f'<polyline class="{kind}{_dashed(number)}" points="{placed}"/>')
    for millions, perplexity in _thinned(run.heldout, MOST_MARKS):
        title = f"{run.name}: {_short(perplexity)} after {millions:,.6g} million tokens"
        parts.append(_mark(number, *axes.place((millions, perplexity)), title))
    return _group(number, "".join(parts))


def _legend(run: _Run, number: int, y: float) -> str:
    """A row of the run's name, its lines and where they stand."""
    name = run.name if len(run.name) <= MOST_LETTERS else f"{run.name[: MOST_LETTERS - 1]}…"
    softmax = "softmax unknown: no config.json" if run.softmax is None else f"{run.softmax} softmax"
    row = (
        f'<text class="name" x="{LEFT}" y="{y + 4}">{escape(name)}</text>'
        f'<path class="training{_dashed(number)}" d="M262 {y}h26"/>'
        f'<text x="295" y="{y + 4}">training {_short(run.training[-1][1])}, {softmax}</text>'
    )
    if run.heldout:
        row += (
            f'<path class="heldout{_dashed(number)}" d="M600 {y}h26"/>{_mark(number, "613", f"{y}", None)}'
            f'<text x="633" y="{y + 4}">held-out {_short(run.heldout[-1][1])}</text>'
        )
    return _group(number, row)


def _notes(runs: Sequence[_Run]) -> list[str]:
    notes = [
        "Training: exp of the loss, mean of the directions over the steps of a log line. Numbers are the last ones."
    ]
    if any(run.heldout for run in runs):
        notes.append("Held-out: the mean of the directions' perplexities of text that is not trained on, full softmax.")
    if any(run.softmax == "sampled" for run in runs):
        notes.append(
            "A sampled softmax chooses among fewer words: its perplexity is lower, not comparable with held-out ones."
        )
    return notes


def _in_words(run: _Run) -> str:
    text = f"{run.name}: training perplexity from {_short(run.training[0][1])} to {_short(run.training[-1][1])}"
    if run.heldout:
        text += f", held-out perplexity from {_short(run.heldout[0][1])} to {_short(run.heldout[-1][1])}"
    return f"{text}, after {run.training[-1][0]:,.6g} million tokens."


def _short(perplexity: float) -> str:
    return f"{perplexity:,.1f}" if perplexity < 1e6 else f"{perplexity:.0e}"


def _thinned(points: Sequence[tuple[float, float]], most: int) -> Sequence[tuple[float, float]]:
    """At most `most` of the points, spread evenly, the first and the last among them."""
    if len(points) <= most:
        return points
    return [points[round(number * (len(points) - 1) / (most - 1))] for number in range(most)]


def _group(number: int, drawn: str) -> str:
    return f'<g style="--own: var(--run{number % NUM_COLOURS})">{drawn}</g>'


def _dashed(number: int) -> str:
    """The colours come a second time with dashes."""
    return " dashed" if number // NUM_COLOURS % 2 else ""


def _mark(number: int, x: str, y: str, title: str | None) -> str:
    text = "" if title is None else f"<title>{escape(title)}</title>"
    return _MARKS[number % len(_MARKS)].format(x=x, y=y, title=text)
