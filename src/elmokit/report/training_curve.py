"""Training curves as a figure: perplexity against tokens read, of the training text and of held-out text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elmokit.report.pictures import new_figure, pictures
from elmokit.system.python import require

if TYPE_CHECKING:
    from elmokit.report.run_history import RunHistory

HIGHEST = 1e30  # perplexities above it are drawn there
MOST_MARKS = 40  # per line
SIZE = (8.0, 4.8)  # inches
MARKERS = "oD^sv"
STYLE = {"axes.grid": True, "grid.color": "#d5dae1"}


def training_figure(histories: Sequence[RunHistory]) -> Any:
    """A `matplotlib.figure.Figure` with a line per run for training perplexity, and a marked line for held-out text.

    Lines are not smoothed. Raises ValueError without matplotlib.
    """
    ticker = require("matplotlib.ticker", extra="plots", purpose="the picture of the training curves")
    figure = new_figure(SIZE)
    axes = figure.add_subplot()
    for number, history in enumerate(histories):
        _draw(axes, history, colour=f"C{number % 10}", marker=MARKERS[number % len(MARKERS)])
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(ticker.NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.6g}"))
    axes.set_xlim(left=0)
    axes.set_xlabel("millions of tokens read")
    axes.set_ylabel("perplexity (log scale)")
    axes.legend(*axes.get_legend_handles_labels(), frameon=False)
    return figure


def training_curve(histories: Sequence[RunHistory]) -> str:
    """The figure as SVG; the same runs give the same text. Raises ValueError as `training_figure` does."""
    return pictures(lambda: training_figure(histories), endings=("svg",), style=STYLE)["svg"].decode()


def _draw(axes: Any, history: RunHistory, *, colour: str, marker: str) -> None:
    softmax = "softmax unknown" if history.config is None else f"{history.config.softmax} softmax"
    training = [(line.num_tokens, line.perplexity) for line in history.training]
    axes.plot(
        *_curve(training), color=colour, alpha=0.7, linewidth=1, label=f"{_plain(history.name)}: training, {softmax}"
    )
    for change in history.changes:
        axes.axvline(change.num_tokens / 1e6, color=colour, linewidth=1, linestyle=":")
    if history.evaluations:
        heldout = [(line.num_tokens, line.mean) for line in history.evaluations]
        every = -(-len(heldout) // MOST_MARKS)
        label = f"{_plain(history.name)}: held-out, full softmax"
        axes.plot(*_curve(heldout), color=colour, linewidth=2, marker=marker, markevery=every, label=label)


def _plain(name: str) -> str:
    """A run's name as it is: matplotlib sets what is between dollars as mathematics, and hides what begins with `_`."""
    return ("\u200b" if name.startswith("_") else "") + name.replace("$", r"\$")


def _curve(points: Sequence[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """Millions of tokens, and perplexities."""
    return [tokens / 1e6 for tokens, _ in points], [min(perplexity, HIGHEST) for _, perplexity in points]
