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
    parser.add_argument("table", metavar="TABLE", help="table or figure, such as table1")
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="what it is made from: runs for table1, results.jsonl for a table that is computed from data (default: "
        "compute it)",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="M",
        help="what is measured: a model, random:M for one of its size with random weights, a file of vectors, or "
        "static:FILE for word vectors; can be repeated (default: what the table compares)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(".data"),
        metavar="DIR",
        help="folder of the data, see CONTRIBUTING.md (default: %(default)s)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="folder of the results that are computed; those that are there are kept (default: runs/TABLE)",
    )
    _add_output(parser, "TABLE.md")


def _reproduce(arguments: argparse.Namespace) -> None:
    """Write a table or figure of a paper with our numbers next to the printed ones; compute them if need be."""
    from elmokit.report.pages import write_reproduction
    from elmokit.reproduce.reproduction import Request

    results_dir = arguments.results or Path("runs") / arguments.table
    request = Request(arguments.data, results_dir, tuple(arguments.model))
    print(write_reproduction(arguments.table, arguments.paths, arguments.output, request=request))


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
