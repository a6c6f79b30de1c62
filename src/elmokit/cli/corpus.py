"""Verbs of the corpus: raw text to shards, and shards to a vocabulary."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from elmokit.cli.verb import add_column, given


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "raw", nargs="+", type=Path, metavar="RAW", help="raw text: plain, .gz or .xz; a blank line ends a document"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FOLDER", help="output folder (must not exist)"
    )
    parser.add_argument(
        "--language",
        choices=("en", "ko", "other"),
        default="other",
        help="en and ko drop sentences that are mostly in another script (default: other, which keeps all)",
    )
    parser.add_argument(
        "--unit",
        choices=("eojeol", "morphemes"),
        default="eojeol",
        help="tokens of Korean: words between spaces with punctuation split off (default), or morphemes (needs "
        "'elmokit[ko]')",
    )
    add_column(parser)
    parser.add_argument("--min-tokens", type=int, metavar="N", help="drop shorter sentences (default: 4)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="drop longer sentences (default: 100)")
    parser.add_argument("--keep-duplicates", action="store_true", help="keep repeated sentences")
    parser.add_argument(
        "--join-hyphens",
        action="store_true",
        help="join words that a hyphen breaks at a line end, as in scanned books, if they occur in one piece elsewhere "
        "in the text (default: no)",
    )
    parser.add_argument("--no-nfc", action="store_true", help="do not normalise characters (default: Unicode NFC)")
    parser.add_argument(
        "--held-out",
        type=_share,
        metavar="SHARE",
        help="share of the documents to hold out, such as 0.5%% or 0.005 (default: 0.5%%)",
    )
    parser.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="evaluation data (plain text, columns, JSON, JSON lines): sentences that share a passage with it are "
        "dropped",
    )
    parser.add_argument(
        "--exclude-words",
        type=int,
        metavar="N",
        help="with --exclude: number of successive words that count as a shared passage (default: 10)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed for shuffling and holding out (default: %(default)s)")
    parser.add_argument(
        "--shard-megabytes",
        type=float,
        metavar="N",
        help="megabytes of text per shard, before compression (default: 40)",
    )


def _prepare(arguments: argparse.Namespace) -> None:
    """Turn raw text into a corpus: sentences, tokens, no duplicates, shuffled shards, held-out text."""
    from elmokit.cli.corpus_tables import corpus_text
    from elmokit.corpus.prepare import Preparation, prepare

    if arguments.exclude_words is not None and not arguments.exclude:
        raise ValueError("--exclude-words needs --exclude FILE")
    names = ("min_tokens", "max_tokens", "held_out", "shard_megabytes", "exclude_words")
    how = Preparation(
        language=arguments.language,
        unit=arguments.unit,
        nfc=not arguments.no_nfc,
        column=arguments.column,
        keep_duplicates=arguments.keep_duplicates,
        join_hyphens=arguments.join_hyphens,
        seed=arguments.seed,
        exclude=tuple(arguments.exclude),
        **given(arguments, *names),
    )
    manifest = prepare(arguments.raw, arguments.output, how)
    for warning in manifest.warnings():
        print(f"elmokit: warning: {warning}", file=sys.stderr)
    print(corpus_text(manifest))
    print(arguments.output)


def _add_vocabulary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="tokenised text, one sentence per line")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="FILE", help="output file, one token per line"
    )
    parser.add_argument(
        "--min-count",
        type=int,
        default=1,
        metavar="N",
        help="leave out tokens that occur fewer than N times (default: 1)",
    )
    parser.add_argument("--max-size", type=int, metavar="N", help="at most N lines, including <S>, </S> and <UNK>")


def _vocabulary(arguments: argparse.Namespace) -> None:
    """Count the tokens of a corpus and write them, most frequent first."""
    from elmokit.cli.corpus_tables import vocabulary_text
    from elmokit.corpus.vocabulary_counts import write_vocabulary

    summary = write_vocabulary(
        arguments.shards, arguments.output, min_count=arguments.min_count, max_size=arguments.max_size
    )
    print(vocabulary_text(summary))
    print(arguments.output)


def _share(text: str) -> float:
    """`0.5%` or `0.005`."""
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; expected one such as 0.5% or 0.005") from None


VERBS = (("prepare", _add_prepare, _prepare), ("vocabulary", _add_vocabulary, _vocabulary))
