"""Verbs of scoring: how well a biLM predicts text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb


def _add_perplexity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="name of a bundled model, a model folder, or an options.json")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="tokenised text, one sentence per line; several files get one row each, and one row for all",
    )
    parser.add_argument("--weights", metavar="FILE", help="HDF5 weights that belong to an options.json")
    parser.add_argument(
        "--carry-state",
        action="store_true",
        help="read each file as one stream, as bilm-tf does, instead of sentence by sentence",
    )
    parser.add_argument(
        "--bands", action="store_true", help="split the results by the rank of the predicted word in the vocabulary"
    )
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="list the N words with the largest total loss in each direction, including <UNK> and </S>",
    )
    parser.add_argument(
        "--top-min-count",
        type=int,
        default=1,
        metavar="N",
        help="list only words that were predicted at least N times (default: 1)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="also write everything as JSON, with bands and top words for every file",
    )


def _perplexity(arguments: argparse.Namespace) -> None:
    """Measure the perplexity of a model on text, in both directions, with the full softmax."""
    from contextlib import nullcontext

    from elmokit.model.bundled import resolve_model
    from elmokit.scoring.breakdown import measure_files
    from elmokit.system.files import atomic_write

    with atomic_write(arguments.json) if arguments.json else nullcontext() as unfinished:
        table = measure_files(
            str(resolve_model(arguments.model)),
            arguments.files,
            num_words=arguments.top,
            min_count=arguments.top_min_count,
            carry_state=arguments.carry_state,
            weights=arguments.weights,
        )
        if unfinished:
            unfinished.write_text(table.to_json(), encoding="utf-8")
    print(table.text(bands=arguments.bands))


VERBS: Sequence[Verb] = (("perplexity", _add_perplexity, _perplexity),)
