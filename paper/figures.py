"""Figures drawn with matplotlib: sample efficiency, gain by perplexity, and the weights of the mixes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from elmokit.report.output import new_figure, pictures
from paper.experiments import CURVE_TASKS, DATASETS, MODEL, SHIPPED
from paper.results import Results
from paper.statistics import best_pair, curve, learnt_mix
from paper.tables import mixes_of

PANEL = (4.6, 3.6)  # inches
CELL = (0.95, 0.62)  # inches
LINES = (("+ ELMo", "#1f4e8c", "o-"), ("no ELMo", "#8a4b08", "s--"))
"""Name, colour, marker and dash of both arms, which can be told apart in black and white."""
DARK = 0.55
"""Weights from here on are written in white."""


def drawn(results: Results, name: str) -> str:
    """A figure as SVG. Raises ValueError without matplotlib."""
    return pictures(partial(FIGURES[name], results), endings=("svg",))["svg"].decode()


def sample_figure(results: Results) -> Any:
    """A panel for each task: the development score by the number of examples. Bars are deviations over seeds."""
    figure, panels = _panels(len(CURVE_TASKS))
    for axes, task in zip(panels, CURVE_TASKS, strict=True):
        points = curve(results, task, SHIPPED, "cpu-converged")
        both = ([one.arm for one in points.values()], [one.baseline for one in points.values()])
        for (name, colour, line), batches in zip(LINES, both, strict=True):
            scores = [list(batch.scores.values()) for batch in batches]
            means, bars = (
                map(statistics.fmean, scores),
                [statistics.stdev(one) if len(one) > 1 else 0 for one in scores],
            )
            axes.errorbar(list(points), list(means), yerr=bars, fmt=line, color=colour, label=name, capsize=3)
        axes.set_xscale("log")
        axes.set_xticks(list(points), [f"{size:,}" for size in points])
        axes.set_xticks([], minor=True)
        axes.set_xlabel("training examples")
        axes.set_ylim(bottom=0)
        axes.set_ylabel(f"{_unit(task)}, development set")
        axes.set_title(f"{DATASETS[task].row}, {SHIPPED}", fontsize=10)
        axes.legend(frameon=False)
    return figure


def gains_figure(results: Results) -> Any:
    """A panel for each task: the gain by the perplexity of the biLM. Bars are 95 % intervals over seeds."""
    figure, panels = _panels(len(CURVE_TASKS))
    measured = results.select("perplexity", metric="perplexity", layer="mean")
    for axes, task in zip(panels, CURVE_TASKS, strict=True):
        points: list[tuple[float, float, float]] = []
        for row in sorted(measured, key=lambda row: -row.value):
            one = best_pair(results, "perplexity", "+ ELMo", model=row.model, task=task, split="dev")
            if one and one.gain and (interval := one.gain.interval()):
                points.append((row.value, interval.estimate, interval.high - interval.estimate))
        perplexities, gains, margins = zip(*points, strict=True)
        axes.errorbar(perplexities, gains, margins, fmt=LINES[0][2], color=LINES[0][1], capsize=3)
        axes.invert_xaxis()
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_xlabel("perplexity of the biLM on held-out text")
        axes.set_ylabel(f"gain in {_unit(task)}, development set")
        axes.set_title(DATASETS[task].row, fontsize=10)
    return figure


def weights_figure(results: Results) -> Any:
    """A heat map for each position: layers from the top down, tasks side by side, darker with the weight."""
    found: dict[str, dict[str, list[float]]] = {}
    for model, arm, place in mixes_of(results):
        if model == MODEL and (place == "input" or arm == "both"):
            for task in dict.fromkeys(row.task for row in results.select("figure2", model=model, arm=arm, layer=place)):
                found.setdefault(place, {}).setdefault(
                    DATASETS[task].row, learnt_mix(results, task, model, arm, place)[0]
                )
    widths = [len(tasks) for tasks in found.values()]
    figure = new_figure((1.6 + CELL[0] * sum(widths) + 0.6 * len(found), 1.3 + CELL[1] * 3))
    panels = figure.subplots(1, len(found), squeeze=False, width_ratios=widths)[0]
    for axes, (place, tasks) in zip(panels, found.items(), strict=True):
        rows = list(zip(*tasks.values(), strict=True))
        axes.imshow(rows[::-1], cmap="Greys", vmin=0, vmax=1, aspect="auto")
        for across, weights in enumerate(tasks.values()):
            for layer, weight in enumerate(weights):
                colour = "white" if weight >= DARK else "black"
                axes.text(across, len(rows) - 1 - layer, f"{weight:.2f}", ha="center", va="center", color=colour)
        names = [f"LSTM layer {layer}" if layer else "token layer" for layer in range(len(rows))]
        axes.set_xticks(range(len(tasks)), list(tasks))
        axes.set_yticks(range(len(rows)), names[::-1])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(True)
        axes.set_title(f"at the {place}", fontsize=10)
    return figure


FIGURES: Mapping[str, Callable[[Results], Any]] = {
    "figure1": sample_figure,
    "perplexity": gains_figure,
    "figure2": weights_figure,
}


def _panels(number: int) -> tuple[Any, list[Any]]:
    """A figure with so many panels in a row."""
    figure = new_figure((PANEL[0] * number, PANEL[1]))
    return figure, list(figure.subplots(1, number, squeeze=False).flat)


def _unit(task: str) -> str:
    return f"{DATASETS[task].metric.replace('f1', 'F1')} (%)"
