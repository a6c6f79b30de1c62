"""Verbs about this installation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from elmokit.cli.verb import Verb


def _add_doctor(parser: argparse.ArgumentParser) -> None:
    del parser


def _doctor(arguments: argparse.Namespace) -> int:
    """Check this installation: versions, processor, GPU, threads, bundled models."""
    from elmokit.cli.doctor import report

    text, healthy = report()
    print(text)
    return 0 if healthy else 1


VERBS: Sequence[Verb] = (("doctor", _add_doctor, _doctor),)
