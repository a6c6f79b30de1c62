"""Verbs that report: on runs, and on this installation."""

from __future__ import annotations

import argparse
from pathlib import Path


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


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    del parser


def _doctor(arguments: argparse.Namespace) -> int:
    """Check this installation: versions, processor, GPU, threads, bundled models."""
    from elmokit.cli.doctor import report

    text, healthy = report()
    print(text)
    return 0 if healthy else 1


VERBS = (("report", _add_report, _report), ("doctor", _add_doctor, _doctor))
