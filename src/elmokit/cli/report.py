"""Verbs that turn results into pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from elmokit.cli.verb import Verb


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folder of a run of pretrain or train, its metrics.jsonl, a runs.jsonl, or a folder of runs",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report"),
        metavar="FOLDER",
        help="output folder: training.md and training-curve.svg for pretraining, tasks.md for tasks "
        "(default: %(default)s)",
    )


def _report(arguments: argparse.Namespace) -> None:
    """Report on runs: training curves of pretraining, and task results with and without ELMo."""
    from elmokit.report.pages import write_report

    for path in write_report(arguments.runs, arguments.output):
        print(path)


VERBS: Sequence[Verb] = (("report", _add_report, _report),)
