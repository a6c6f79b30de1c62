"""Verbs of the corpus: raw text to shards, and shards to a vocabulary."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.verb import Parser, add_column, check_needed, given, text_output
from elmokit.system.messages import plural

if TYPE_CHECKING:
    from elmokit.corpus.manifest import Amount, CorpusFile, CorpusManifest, Source


def _add_prepare(parser: Parser) -> None:
    parser.add_argument(
        "raw", nargs="+", type=Path, metavar="RAW", help="raw text: plain, .gz or .xz; a blank line ends a document"
    )
    parser.option("-o, --output FOLDER", "output folder (must not exist)", type=Path, required=True)
    parser.option(
        "--language",
        "en and ko drop sentences that are mostly in another script (default: other, which keeps all)",
        choices=("en", "ko", "other"),
        default="other",
    )
    parser.option(
        "--unit",
        "tokens of Korean: words between spaces with punctuation split off (default), or morphemes (needs "
        "'elmokit[ko]')",
        choices=("eojeol", "morphemes"),
        default="eojeol",
    )
    add_column(parser)
    parser.option("--min-tokens N", "drop shorter sentences (default: 4)", type=int)
    parser.option("--max-tokens N", "drop longer sentences (default: 100)", type=int)
    parser.option("--keep-duplicates", "keep repeated sentences")
    parser.option(
        "--join-hyphens",
        "join words that a hyphen breaks at a line end, as in scanned books, if they occur in one piece elsewhere "
        "in the text (default: no)",
    )
    parser.option("--no-nfc", "do not normalise characters (default: Unicode NFC)")
    parser.option(
        "--held-out SHARE", "share of the documents to hold out, such as 0.5%% or 0.005 (default: 0.5%%)", type=_share
    )
    parser.option(
        "--exclude FILE",
        "evaluation data (plain text, columns, JSON, JSON lines): sentences that share a passage with it are dropped",
        nargs="+",
        action="extend",
        default=[],
    )
    parser.option(
        "--exclude-words N",
        "with --exclude: number of successive words that count as a shared passage (default: 10)",
        type=int,
    )
    parser.option("--seed", "seed for shuffling and holding out (default: %(default)s)", type=int, default=0)
    parser.option("--shard-megabytes N", "megabytes of text per shard, before compression (default: 40)", type=float)


def _prepare(arguments: argparse.Namespace) -> None:
    """Turn raw text into a corpus: sentences, tokens, no duplicates, shuffled shards, held-out text."""
    from elmokit.corpus.prepare import Preparation, prepare

    check_needed(arguments, "--exclude-words", "--exclude")
    names = ("min_tokens", "max_tokens", "held_out", "shard_megabytes", "exclude_words")
    names += ("language", "unit", "column", "keep_duplicates", "join_hyphens", "seed")
    how = Preparation(nfc=not arguments.no_nfc, exclude=tuple(arguments.exclude), **given(arguments, *names))
    manifest = prepare(arguments.raw, arguments.output, how)
    for warning in manifest.warnings():
        print(f"elmokit: warning: {warning}", file=sys.stderr)
    print(_corpus_text(manifest))
    print(arguments.output)


def _corpus_text(manifest: CorpusManifest) -> str:
    num_documents = sum(source.documents for source in manifest.sources)
    joined = f"{manifest.joined_words:>12,} of {manifest.broken_words:,} words broken at line ends"
    lines = [
        f"{'read':24}{_amounts(manifest.sources)} in {num_documents:,} documents",
        *([f"{'joined':24}{joined}"] if manifest.options.get("join_hyphens") else []),
        *(f"{reason:24}{_amounts([amount])}" for reason, amount in manifest.dropped.items() if amount.sentences),
        f"{'training':24}{_amounts(manifest.shards)} in {plural(len(manifest.shards), 'shard')}",
    ]
    if manifest.held_out:
        documents = plural(manifest.held_out_documents, "document")
        lines.append(f"{'held out':24}{_amounts([manifest.held_out])} of {documents}")
    return "\n".join(lines)


def _amounts(parts: Sequence[Source | CorpusFile | Amount]) -> str:
    num_sentences, num_tokens = sum(part.sentences for part in parts), sum(part.tokens for part in parts)
    return f"{num_sentences:>12,} sentences {num_tokens:>14,} tokens"


def _add_vocabulary(parser: Parser) -> None:
    parser.add_argument(
        "shards",
        nargs="+",
        type=Path,
        metavar="SHARD",
        help="tokenised text, one sentence per line; or the folder that prepare wrote",
    )
    parser.option("-o, --output FILE", "output file, one token per line", type=text_output, required=True)
    parser.option("--min-count N", "leave out tokens that occur fewer than N times (default: 1)", type=int, default=1)
    parser.option("--max-size N", "at most N lines, including <S>, </S> and <UNK>", type=int)


def _vocabulary(arguments: argparse.Namespace) -> None:
    """Count the tokens of a corpus and write them, most frequent first."""
    from elmokit.corpus.vocabulary_counts import write_vocabulary
    from elmokit.text.vocabulary import SPECIALS

    summary = write_vocabulary(
        arguments.shards, arguments.output, min_count=arguments.min_count, max_size=arguments.max_size
    )
    share_cut = summary.num_cut_tokens / summary.num_tokens
    print(
        f"{summary.num_sentences:,} sentences, {summary.num_tokens:,} tokens, {summary.num_types:,} types\n"
        f"kept {summary.num_kept:,} types and {len(SPECIALS)} specials; "
        f"the rarest has count {summary.rarest_count:,}\n"
        f"coverage {summary.coverage:.2%} of the tokens; OOV rate {1 - summary.coverage:.2%}\n"
        f"longer than 48 bytes, and cut: {summary.num_cut_tokens:,} tokens ({share_cut:.4%})\n"
        f"{arguments.output}"
    )


def _share(text: str) -> float:
    """`0.5%` or `0.005`."""
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; expected one such as 0.5% or 0.005") from None


VERBS = (("prepare", _add_prepare, _prepare), ("vocabulary", _add_vocabulary, _vocabulary))
