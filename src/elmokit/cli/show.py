"""Verbs that show something to a person: what the vectors know, what runs have reached, what is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--html", type=Path, default=Path("demo.html"), help="the picture (default: %(default)s)")
    parser.add_argument("--model", metavar="M", help="a bundled model's name or a folder (default: the bundled model)")


def _demo(arguments: argparse.Namespace) -> None:
    """See contextual word vectors of the bundled model, offline; writes a picture."""
    from elmokit.web.demo import demo

    demo.run(arguments.html, model=arguments.model)


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="the folder of a run of pretrain or train, or its metrics.jsonl, or a folder of such folders",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("docs"),
        metavar="FOLDER",
        help="for training.md and training-curve.svg of pretraining runs, results.md of runs of tasks (default: "
        "%(default)s)",
    )


def _report(arguments: argparse.Namespace) -> None:
    """Draw the training curves of pretraining runs; compare runs of tasks with ELMo and without it."""
    from elmokit.report.pages import report

    for path in report(arguments.runs, arguments.output):
        print(path)


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    del parser


def _doctor(arguments: argparse.Namespace) -> int:
    """Check this installation: versions, processor, GPU, threads, bundled models."""
    from elmokit.cli.doctor import report

    text, healthy = report()
    print(text)
    return 0 if healthy else 1


VERBS: Sequence[Verb] = (
    ("demo", _add_demo, _demo),
    ("report", _add_report, _report),
    ("doctor", _add_doctor, _doctor),
)
