"""Verbs that write web pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb


def _add_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--html", type=Path, default=Path("demo.html"), help="where to write the page (default: %(default)s)"
    )
    parser.add_argument("--model", metavar="M", help="name of a bundled model, or a model folder (default: mini-en)")


def _demo(arguments: argparse.Namespace) -> None:
    """Show what contextual vectors know about words with several senses; works offline, writes a web page."""
    from elmokit.web.demo import demo

    demo.run(arguments.html, model=arguments.model)


VERBS: Sequence[Verb] = (("demo", _add_demo, _demo),)
