"""Commands of the corpus: prepare and vocabulary."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.options import Parser, check_option, given, text_output
from elmokit.system.messages import plural

if TYPE_CHECKING:
    from elmokit.corpus.manifest import Amount, CorpusFile, CorpusManifest, Source


def add_prepare(parser: Parser) -> None:
    add = parser.add_argument
    raw = "raw text (may be .gz, .bz2, .xz); a blank line ends a document"
    add("raw", metavar="RAW", type=Path, nargs="+", help=raw)
    add("-o", "--output", metavar="FOLDER", type=Path, required=True, help="output folder (must not exist)")
    language = "en and ko drop sentences that are mostly in another script (default: other, which keeps all)"
    add("--language", choices=("en", "ko", "other"), default="other", help=language)
    unit = "tokens of Korean: words between spaces without punctuation (default), or morphemes (needs 'elmokit[kiwi]')"
    add("--unit", choices=("eojeol", "morphemes"), default="eojeol", help=unit)
    parser.add_column()
    parser.add_flag("--lines", "each line is a document, such as a review (default: blank lines end them)")
    parser.add_flag("--document-per-file", "each file is a document, so that whole files are held out")
    add("--min-tokens", metavar="N", type=int, help="drop shorter sentences (default: 4)")
    add("--max-tokens", metavar="N", type=int, help="drop longer sentences (default: 100)")
    parser.add_flag("--keep-duplicates", "keep repeated sentences")
    hyphens = "join words that are broken at the end of a line, as in scanned books, if they occur unbroken elsewhere"
    parser.add_flag("--join-hyphens", hyphens)
    parser.add_flag("--no-nfc", "do not normalise characters (default: Unicode NFC)")
    share = "share of the documents to hold out, such as 0.5%% or 0.005 (default: 0.5%%)"
    add("--held-out", metavar="SHARE", type=_share, help=share)
    exclude = "evaluation data (text, columns, JSON, JSON lines): drop sentences that share a passage with it"
    add("--exclude", metavar="FILE", nargs="+", action="extend", default=[], help=exclude)
    words = "with --exclude: number of consecutive words that count as a shared passage (default: 10)"
    add("--exclude-words", metavar="N", type=int, help=words)
    add("--seed", type=int, default=0, help="seed for shuffling and holding out (default: %(default)s)")
    megabytes = "megabytes of text per shard, before compression (default: 40)"
    add("--shard-megabytes", metavar="N", type=float, help=megabytes)


def run_prepare(arguments: argparse.Namespace) -> None:
    from elmokit.corpus.prepare import Preparation, prepare

    check_option(arguments, "--exclude-words", needs="--exclude")
    names = {one.name for one in fields(Preparation)} - {"nfc", "exclude"}
    how = Preparation(nfc=not arguments.no_nfc, exclude=tuple(arguments.exclude), **given(arguments, *names))
    manifest = prepare(arguments.raw, arguments.output, how)
    for warning in manifest.warnings():
        warnings.warn(warning, stacklevel=2)
    print(_corpus_text(manifest))
    print(arguments.output)


def _corpus_text(manifest: CorpusManifest) -> str:
    num_documents = sum(source.documents for source in manifest.sources)
    joined = f"{manifest.joined_words:>12,} of {manifest.broken_words:,} words broken at line ends"
    options, num_files = manifest.options, plural(len(manifest.sources), "file")
    ends = "one per row of the column" if options.get("column") else "one per line" if options.get("lines") else ""
    documents = f"{plural(num_documents, 'document')} ({ends or 'blank lines end them'}) in {num_files}"
    lines = [
        f"{'read':24}{_amounts(manifest.sources)} in {num_files if options.get('document_per_file') else documents}",
        *([f"{'joined':24}{joined}"] if options.get("join_hyphens") else []),
        *(_dropped(reason, amount, manifest) for reason, amount in manifest.dropped.items() if amount.sentences),
        f"{'training':24}{_amounts(manifest.shards)} in {plural(len(manifest.shards), 'shard')}",
    ]
    if manifest.held_out:
        documents = plural(manifest.held_out_documents, "document")
        lines.append(f"{'held out':24}{_amounts([manifest.held_out])} of {documents}, {_share_held_out(manifest)}")
    return "\n".join(lines)


def _dropped(reason: str, amount: Amount, manifest: CorpusManifest) -> str:
    from elmokit.corpus.manifest import TOO_LONG

    share = amount.tokens / sum(source.tokens for source in manifest.sources)
    kept = f" (more than {manifest.options['max_tokens']} tokens; --max-tokens N raises the limit)"
    return f"{reason:24}{_amounts([amount])}, {share:.1%}{kept if reason == TOO_LONG else ''}"


def _share_held_out(manifest: CorpusManifest) -> str:
    share, asked = manifest.share_held_out, float(str(manifest.options["held_out"]))
    is_close = asked / 1.5 < share < asked * 1.5
    reason = f" instead of {asked:.1%}: whole documents are drawn at random; another --seed draws others"
    return f"{share:.1%} of the tokens{'' if is_close else reason}"


def _amounts(parts: Sequence[Source | CorpusFile | Amount]) -> str:
    num_sentences, num_tokens = sum(part.sentences for part in parts), sum(part.tokens for part in parts)
    return f"{num_sentences:>12,} sentences {num_tokens:>14,} tokens"


def add_vocabulary(parser: Parser) -> None:
    add = parser.add_argument
    shards = "tokenised text, one sentence per line; or the folder that prepare wrote"
    add("shards", metavar="SHARD", type=Path, nargs="+", help=shards)
    add("-o", "--output", metavar="FILE", type=text_output, required=True, help="output file, one token per line")
    rare = "leave out tokens that occur fewer than N times (default: %(default)s)"
    add("--min-count", metavar="N", type=int, default=1, help=rare)
    add("--max-size", metavar="N", type=int, help="at most N lines, including <S>, </S> and <UNK>")
    parser.add_as_text()


def run_vocabulary(arguments: argparse.Namespace) -> None:
    from elmokit.corpus.vocabulary_counts import write_vocabulary
    from elmokit.text.vocabulary import SPECIALS

    how = given(arguments, "min_count", "max_size", "as_text")
    found = write_vocabulary(arguments.shards, arguments.output, **how)
    print(f"{found.num_sentences:,} sentences, {found.num_tokens:,} tokens, {found.num_types:,} types")
    print(f"kept {found.num_kept:,} types and {len(SPECIALS)} specials; the rarest has count {found.rarest_count:,}")
    print(f"coverage {found.coverage:.2%} of the tokens; OOV rate {1 - found.coverage:.2%}")
    share = found.num_cut_tokens / found.num_tokens
    print(f"cut because they are longer than 48 bytes: {found.num_cut_tokens:,} tokens ({share:.4%})")
    print(arguments.output)


def _share(text: str) -> float:
    """`0.5%` or `0.005`."""
    try:
        return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share; expected one such as 0.5% or 0.005") from None
