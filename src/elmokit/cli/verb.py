"""What a verb is to the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable

Verb = tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], "int | None"]]
"""Its name, what adds its arguments, and what runs it: the docstring is its help, the result the exit code (None: 0).

The functions import the library when they run.
"""


def add_column(parser: argparse.ArgumentParser) -> None:
    """Add `--column`, of the verbs that read text."""
    parser.add_argument(
        "--column",
        metavar="NAME",
        help="read a column, not lines: a field of JSON lines, a column of a TSV or CSV file, or form of CoNLL-U",
    )


def continues_by(advice: str) -> Callable[[argparse.Namespace], str]:
    """A verb's `when_interrupted`, what is said after `interrupted`, if it does not depend on the arguments."""
    return lambda arguments: advice
