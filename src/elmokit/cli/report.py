"""Verbs that turn results into pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folder of a run of pretrain or train, its metrics.jsonl, a runs.jsonl, or a folder of runs",
    )
    _add_output(parser, "training.md and training-curve.svg for pretraining, results.md for tasks")


def _report(arguments: argparse.Namespace) -> None:
    """Report on runs: training curves of pretraining, and task results with and without ELMo."""
    from elmokit.report.pages import write_report

    for path in write_report(arguments.runs, arguments.output):
        print(path)


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="table or figure of the paper, such as table1")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="what it is made from; runs for table1")
    _add_output(parser, "TABLE.md")


def _reproduce(arguments: argparse.Namespace) -> None:
    """Write a table of the paper with our numbers next to the printed ones."""
    from elmokit.report.pages import write_reproduction

    print(write_reproduction(arguments.table, arguments.paths, arguments.output))


def _add_output(parser: argparse.ArgumentParser, files: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("docs"),
        metavar="FOLDER",
        help=f"output folder: {files} (default: %(default)s)",
    )


VERBS: Sequence[Verb] = (("report", _add_report, _report), ("reproduce", _add_reproduce, _reproduce))
