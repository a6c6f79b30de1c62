"""Verbs that report: on runs, and on this installation."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmokit.cli.verb import Parser, Verb


def _add_report(parser: Parser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folder of a run of pretrain or train, its metrics.jsonl, a runs.jsonl, or a folder of runs",
    )
    parser.option(
        "-o, --output FOLDER",
        "output folder: training.md and training-curve.svg for pretraining, tasks.md for tasks (default: %(default)s)",
        type=Path,
        default=Path("report"),
    )


def _report(arguments: argparse.Namespace) -> None:
    """Report on runs: training curves of pretraining, and task results with and without ELMo."""
    from elmokit.report.pages import write_report

    for path in write_report(arguments.runs, arguments.output):
        print(path)


def _doctor(arguments: argparse.Namespace) -> int:
    """Check this installation: versions, processor, GPU, threads, bundled models."""
    from elmokit.cli.doctor import report

    text, healthy = report()
    print(text)
    return 0 if healthy else 1


VERBS: tuple[Verb, ...] = (("report", _add_report, _report), ("doctor", lambda parser: None, _doctor))
