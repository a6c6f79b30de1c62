"""The figure of training curves: what is drawn where, and the same file for the same runs."""

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from elmokit.pretraining.recipes import recipe
from elmokit.report.run_history import LoggedLosses, LoggedPerplexity, RunHistory
from elmokit.report.training_curve import training_curve, training_figure

TRAINED = [(500_000, 1000.0), (1_000_000, 200.0), (2_000_000, 100.0)]
HISTORY = RunHistory(
    name="mine",
    training=[LoggedLosses(tokens // 1000, tokens, 1.0, (math.log(value),)) for tokens, value in TRAINED],
    evaluations=[LoggedPerplexity(1000, 1_000_000, 290.0, 310.0, 300.0)],
    config=recipe("mini"),
)


def test_lines_have_the_numbers_of_the_log_and_one_that_overflowed_is_at_the_top():
    (axes,) = training_figure([HISTORY]).axes
    training, heldout = axes.lines
    assert list(training.get_xdata()) == [0.5, 1.0, 2.0]
    assert list(training.get_ydata()) == pytest.approx([1000.0, 200.0, 100.0])
    assert (list(heldout.get_xdata()), list(heldout.get_ydata())) == ([1.0], [300.0])
    assert axes.get_yscale() == "log"
    diverged = [*HISTORY.training, LoggedLosses(3000, 3_000_000, 1.0, (1e6, 1e6))]
    (axes,) = training_figure([replace(HISTORY, training=diverged)]).axes
    assert axes.lines[0].get_ydata()[-1] == 1e30


def test_the_same_runs_make_the_same_file():
    text = training_curve([HISTORY])
    assert text == training_curve([HISTORY])
    root = ElementTree.fromstring(text)
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "millions of tokens read" in words and "200" in words
