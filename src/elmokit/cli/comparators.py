"""Verbs of the systems that stand next to ELMo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb


def _add_train_comparator(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "system", metavar="SYSTEM", help="word2vec, fasttext, cove or context2vec; see docs/comparators.md"
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="shards of tokenised text; for cove TRAIN.en TRAIN.de [TEST.en TEST.de]",
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="OUT", help="file or folder of the model that is written"
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="settings of the training"
    )
    parser.add_argument(
        "--resume", action="store_true", help="continue an interrupted training in OUT (cove, context2vec)"
    )
    parser.set_defaults(when_interrupted="; the same command with --resume continues cove and context2vec")


def _train_comparator(arguments: argparse.Namespace) -> None:
    """Train a system that ELMo is compared with on your text."""
    import json

    from elmokit.comparators.all_comparators import train_comparator

    measured = train_comparator(
        arguments.system, arguments.files, arguments.output, arguments.set, resume=arguments.resume
    )
    print(json.dumps({"model": str(arguments.output), **measured}, ensure_ascii=False))


def _add_substitutes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="folder of elmokit train-comparator context2vec")
    parser.add_argument(
        "sentences", nargs="+", metavar="SENTENCE", help="tokens separated by spaces, of which one is [], the gap"
    )
    parser.add_argument("--known", metavar="WORD", help="a word that the substitutes should be near in meaning")
    parser.add_argument(
        "--number", type=int, default=10, metavar="N", help="words for each sentence (default: %(default)s)"
    )


def _substitutes(arguments: argparse.Namespace) -> None:
    """List the words that fit best into the gap [] of a sentence, by a model of context2vec."""
    from elmokit.comparators.context2vec import read_context2vec
    from elmokit.files.lines import split_tokens

    model = read_context2vec(arguments.model)
    for sentence in arguments.sentences:
        found = model.substitutes(split_tokens(sentence), known=arguments.known, number=arguments.number)
        print(sentence, *(f"  {score:.3f} {word}" for word, score in found), sep="\n")


VERBS: Sequence[Verb] = (
    ("train-comparator", _add_train_comparator, _train_comparator),
    ("substitutes", _add_substitutes, _substitutes),
)
