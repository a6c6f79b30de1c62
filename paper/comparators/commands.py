"""Verbs of the systems that stand next to ELMo."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.verb import continues_by

if TYPE_CHECKING:
    import argparse

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
    parser.set_defaults(
        when_interrupted=continues_by("; the same command with --resume continues cove and context2vec")
    )


def _train_comparator(arguments: argparse.Namespace) -> None:
    """Train a system that ELMo is compared with on your text."""
    import json

    from paper.comparators.all_comparators import train_comparator

    measured = train_comparator(
        arguments.system, arguments.files, arguments.output, arguments.set, resume=arguments.resume
    )
    print(json.dumps({"model": str(arguments.output), **measured}, ensure_ascii=False))


def _add_substitutes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="folder of `train-comparator context2vec`")
    parser.add_argument(
        "sentences", nargs="+", metavar="SENTENCE", help="tokens separated by spaces, of which one is [], the gap"
    )
    parser.add_argument("--known", metavar="WORD", help="a word that the substitutes should be near in meaning")
    parser.add_argument(
        "--number", type=int, default=10, metavar="N", help="words for each sentence (default: %(default)s)"
    )


def _substitutes(arguments: argparse.Namespace) -> None:
    """List the words that fit best into the gap [] of a sentence, by a model of context2vec."""
    from elmokit.files.lines import split_tokens
    from paper.comparators.context2vec import read_context2vec

    model = read_context2vec(arguments.model)
    for sentence in arguments.sentences:
        found = model.substitutes(split_tokens(sentence), known=arguments.known, number=arguments.number)
        print(sentence, *(f"  {score:.3f} {word}" for word, score in found), sep="\n")


def _add_embed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", metavar="SYSTEM:MODEL", help="such as cove:runs/cove; see docs/comparators.md")
    parser.add_argument("input", metavar="INPUT", help="text, one sentence per line (plain, .gz or .xz)")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT", help="output file, *.npy")
    parser.add_argument("--word-vectors", type=Path, metavar="FILE", help="word vectors that the system reads")
    parser.add_argument("--tokenize", action="store_true", help="split the lines into tokens first")


def _embed(arguments: argparse.Namespace) -> None:
    """Write the vectors that a system trained here has for every line of a text file."""
    from elmokit.integrations.embed_with import check_paths, write_vectors
    from paper.comparators.all_comparators import open_comparator

    system, _, model = arguments.system.partition(":")
    words = arguments.word_vectors
    check_paths(arguments.output, arguments.input, model, *([] if words is None else [words]))
    layers = open_comparator(system, model, word_vectors=words)
    write_vectors(layers, arguments.input, arguments.output, model=model, raw_text=arguments.tokenize)


VERBS: Sequence[Verb] = (
    ("embed", _add_embed, _embed),
    ("train-comparator", _add_train_comparator, _train_comparator),
    ("substitutes", _add_substitutes, _substitutes),
)
