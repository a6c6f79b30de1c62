"""The systems whose vectors stand next to ELMo's, the trainings of those that are trained here, and their commands."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from elmokit.files.lines import split_tokens
from elmokit.integrations.embed_with import SYSTEMS, check_paths, find_system, write_vectors
from elmokit.integrations.encoder import Comparator
from elmokit.model.vector_source import VectorSource
from paper.comparators.context2vec import CONTEXT2VEC, read_context2vec, train_context2vec
from paper.comparators.cove import COVE, open_cove, train_cove

COMPARATORS: dict[str, Comparator] = {**SYSTEMS, COVE.name: COVE, CONTEXT2VEC.name: CONTEXT2VEC}
TRAININGS = {"cove": train_cove, "context2vec": train_context2vec}
"""Trainings by name: files, output and settings `field=value` -> the loss of the last epoch."""


def open_comparator(name: str, model: str, *, word_vectors: Path | None = None) -> VectorSource:
    """Open the model of a system; most read no word vectors besides it, and ignore them.

    Raises ValueError for an unknown name and for word vectors that are missing, and what the system's `open` raises.
    """
    comparator = find_system(COMPARATORS, name, model)
    return open_cove(model, word_vectors) if comparator is COVE else comparator.open(model)


def _add_train_comparator(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("system", choices=TRAININGS, help="see docs/comparators.md")
    add("files", nargs="+", type=Path, metavar="FILE", help="shards of tokenised text; for cove TRAIN.en TRAIN.de")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder of the model that is written")
    add("--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="settings of the training")


def _train_comparator(arguments: argparse.Namespace) -> None:
    """Train a system that ELMo is compared with on your text."""
    loss = TRAININGS[arguments.system](arguments.files, arguments.output, arguments.set)
    print(json.dumps({"model": str(arguments.output), "loss": loss}, ensure_ascii=False))


def _add_substitutes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", type=Path, metavar="MODEL", help="folder of `train-comparator context2vec`")
    add("sentences", nargs="+", metavar="SENTENCE", help="tokens separated by spaces, of which one is [], the gap")
    add("--known", metavar="WORD", help="a word that the substitutes should be near in meaning")
    add("--number", type=int, default=10, metavar="N", help="words for each sentence (default: %(default)s)")


def _substitutes(arguments: argparse.Namespace) -> None:
    """List the words that fit best into the gap [] of a sentence, by a model of context2vec."""
    model = read_context2vec(arguments.model)
    for sentence in arguments.sentences:
        found = model.substitutes(split_tokens(sentence), known=arguments.known, number=arguments.number)
        print(sentence, *(f"  {score:.3f} {word}" for word, score in found), sep="\n")


def _add_embed(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("system", metavar="SYSTEM:MODEL", help="such as cove:runs/cove; see docs/comparators.md")
    add("input", metavar="INPUT", help="text, one sentence per line (plain, .gz or .xz)")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="output file, *.npy")
    add("--word-vectors", type=Path, metavar="FILE", help="word vectors that the system reads")
    add("--tokenize", action="store_true", help="split the lines into tokens first")


def _embed(arguments: argparse.Namespace) -> None:
    """Write the vectors that a system trained here has for every line of a text file."""
    system, _, model = arguments.system.partition(":")
    words = arguments.word_vectors
    check_paths(arguments.output, arguments.input, model, *([] if words is None else [words]))
    layers = open_comparator(system, model, word_vectors=words)
    write_vectors(layers, arguments.input, arguments.output, model=model, raw_text=arguments.tokenize, overwrite=True)


VERBS = (
    ("embed", _add_embed, _embed),
    ("train-comparator", _add_train_comparator, _train_comparator),
    ("substitutes", _add_substitutes, _substitutes),
)
