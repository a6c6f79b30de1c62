"""Figures drawn from our runs with matplotlib: sample efficiency, gain by perplexity, and the weights of the mixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from elmokit.report.output import new_figure
from paper.figure1 import SampleCurve
from paper.figure2 import LearntMix
from paper.perplexity_curve import GainCurve
from paper.plan import DATASETS
from paper.runs import ArmRuns

PANEL = (4.6, 3.6)  # inches
PANELS_ACROSS = 3
CELL = (0.95, 0.62)  # inches
LINES = (("+ ELMo", "#1f4e8c", "o-"), ("no ELMo", "#8a4b08", "s--"))
"""Name, colour, marker and dash of both arms, which can be told apart in black and white."""
DARK = 0.55
"""Weights from here on are written in white."""


def sample_figure(curves: Sequence[SampleCurve]) -> Any:
    """A `matplotlib.figure.Figure` with a panel for each curve: the development score by the number of examples.

    Bars are deviations over seeds; a single seed has one of 0. Raises ValueError without matplotlib.
    """
    figure, panels = _panels(len(curves))
    for axes, curve in zip(panels, curves, strict=True):
        sizes = [point.num_examples for point in curve.points]
        both = ([point.elmo for point in curve.points], [point.none for point in curve.points])
        for (name, colour, line), arms in zip(LINES, both, strict=True):
            scores = [score for arm in arms if (score := arm.score()) is not None]
            bars = [score.deviation or 0.0 for score in scores]
            means = [score.mean for score in scores]
            axes.errorbar(sizes, means, yerr=bars, fmt=line, color=colour, label=name, capsize=3)
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("training examples")
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"{_unit(curve.points[0].none)}, development set")
        axes.set_title(f"{curve.row}, {curve.model}\n{curve.training}", fontsize=10)
        axes.legend(frameon=False)
    return figure


def gains_figure(curves: Sequence[GainCurve]) -> Any:
    """A `matplotlib.figure.Figure` with a panel for each task: the development gain by the perplexity of the biLM.

    Bars are 95 % intervals over seeds. Raises ValueError without matplotlib.
    """
    figure, panels = _panels(len(curves))
    _, colour, line = LINES[0]
    for axes, curve in zip(panels, curves, strict=True):
        gains = [point.gain for point in curve.points]
        means = [gain.estimate for gain in gains]
        margins = [gain.high - gain.estimate for gain in gains]
        axes.errorbar([point.perplexity for point in curve.points], means, margins, fmt=line, color=colour, capsize=3)
        axes.invert_xaxis()
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xlabel("perplexity of the biLM on held-out text")
        axes.set_ylabel(f"gain in {_unit(curve.baseline)}, development set")
        axes.set_title(DATASETS[curve.task].row, fontsize=10)
    return figure


def weights_figure(found: Sequence[LearntMix]) -> Any:
    """A `matplotlib.figure.Figure` with a heat map for each place: layers from the top down, tasks side by side.

    Shades go from white to black with the weight, which is written into its cell. Raises ValueError without matplotlib.
    """
    places = list(dict.fromkeys(one.place for one in found))
    widths = [sum(one.place == place for one in found) for place in places]
    layers = max(len(one.weights) for one in found)
    figure = new_figure((1.6 + CELL[0] * sum(widths) + 0.6 * len(places), 1.3 + CELL[1] * layers))
    panels = figure.subplots(1, len(places), squeeze=False, width_ratios=widths)[0]
    for axes, place in zip(panels, places, strict=True):
        _draw_weights(axes, [one for one in found if one.place == place], layers=layers)
        axes.set_title(f"at the {place}", fontsize=10)
    return figure


def _panels(number: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels, in rows of at most `PANELS_ACROSS`."""
    across = min(number, PANELS_ACROSS)
    down = math.ceil(number / across)
    figure = new_figure((PANEL[0] * across, PANEL[1] * down))
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for axes in panels[number:]:
        axes.set_visible(False)
    return figure, panels[:number]


def _unit(arm: ArmRuns) -> str:
    return f"{arm.metric.replace('_', ' ').replace('f1', 'F1')} (%)"


def _draw_weights(axes: Any, found: Sequence[LearntMix], *, layers: int) -> None:
    rows = [[one.weights[layer] if layer < len(one.weights) else 0.0 for one in found] for layer in range(layers)]
    axes.imshow(rows[::-1], cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for across, one in enumerate(found):
        for layer, weight in enumerate(one.weights):
            colour = "white" if weight >= DARK else "black"
            axes.text(across, layers - 1 - layer, f"{weight:.2f}", ha="center", va="center", color=colour)
    names = [f"LSTM layer {layer}" if layer else "token layer" for layer in range(layers)]
    axes.set_xticks(range(len(found)), [one.row for one in found])
    axes.set_yticks(range(layers), names[::-1])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(True)
