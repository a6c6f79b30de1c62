"""Verbs of vectors: a text file to the contextual vectors of its lines."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.cli.verb import Parser, add_model, check_apart, check_needed, given
from elmokit.system.messages import plural
from elmokit.text.corpora.cells import numbers_between_commas, whole_number

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.layer_choice import Layers


def _add_embed(parser: Parser) -> None:
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="text, one sentence per line (plain, .gz or .xz; - for stdin), or a Parquet or Arrow file, one per row",
    )
    parser.option(
        "-o, --output OUT",
        "output file: *.h5, *.npz, *.npy, *.safetensors, *.parquet, *.arrow or *.tsv; with --types *.vec or *.tsv",
        type=Path,
        required=True,
    )
    parser.option(
        "--column NAME",
        "column of a Parquet, Arrow, JSON lines, TSV or CSV INPUT: text, or lists of tokens (default in Parquet "
        "and Arrow: tokens or text); form of CoNLL-U",
    )
    add_model(parser, has_default=True)
    parser.option(
        "--layers",
        "top, average, all, the number of one layer, or a weight for each: 0.1,0.3,0.6 (default: all for *.h5, as "
        "dump_bilm_embeddings does, else top)",
        type=layer_choice,
    )
    parser.option("--batch-size N", "sentences per batch (default: 128)", type=int)
    parser.option(
        "--precision",
        "float32 is exact; bfloat16 and int8 are faster but approximate (default: float32)",
        choices=("float32", "bfloat16", "int8", "auto"),
    )
    parser.option(
        "--tokenize",
        "split the lines into tokens first, and write them into OUT.tokens.txt (default: tokens are "
        "separated by spaces)",
    )
    parser.option(
        "--split-sentences",
        "INPUT is raw text whose lines may end anywhere, such as a book: split it into sentences, which go into "
        "OUT.sentences.txt (not with --types), and these into tokens",
    )
    parser.option(
        "--types",
        "one vector for each word, the average over its occurrences, most frequent first; OUT is *.vec "
        "(word2vec's text format) or *.tsv",
    )
    parser.option("--min-count N", "with --types: occurrences that a word needs (default: 5)", type=int)
    parser.option(
        "--fasta",
        "INPUT is FASTA: a vector for each residue of each protein, for a model such as SeqVec; the names go into "
        "OUT.names.txt (default for --layers: the sum of all, as in SeqVec)",
    )
    parser.option("--per-protein", "with --fasta: one vector per protein, the mean of its residues")
    parser.option("--resume", "continue an interrupted job, and keep the finished lines also if this one fails")
    parser.option(
        "--with SYSTEM:MODEL",
        "another system's vectors instead of ELMo's, such as static:vectors.bin (docs/comparators.md); OUT is "
        "*.npy then",
        dest="system",
    )
    parser.set_defaults(when_interrupted="; run the same command with --resume to continue")


def _embed(arguments: argparse.Namespace) -> None:
    """Compute the contextual vectors of every line of a text file."""
    check_needed(arguments, "--per-protein", "--fasta")
    check_needed(arguments, "--min-count", "--types")
    check_apart(arguments, "--types", "--fasta", "--with", "--resume")
    check_apart(arguments, "--fasta", "--with", "--tokenize", "--split-sentences", "--column", "--batch-size")
    of_elmo = ("--model", "--weights", "--device", "--layers", "--batch-size", "--precision", "--resume")
    check_apart(arguments, "--with", *of_elmo, "--split-sentences", why=", which writes all layers of the system")
    from elmokit.files.atomic import check_is_not_input
    from elmokit.files.lines import check_inputs
    from elmokit.vectors.arrow_groups import is_table

    if not is_table(Path(arguments.input)):
        check_inputs(arguments.input)
    check_is_not_input(arguments.output, arguments.model, arguments.weights)
    if arguments.types or arguments.system:
        arguments.when_interrupted = ""  # they have no --resume
    if arguments.system:
        counts = _embed_with(arguments)
    else:
        embed = _embed_types if arguments.types else _embed_fasta if arguments.fasta else _embed_with_elmo
        counts = embed(open_elmo(arguments, **given(arguments, "precision")), arguments)
    print(f"{arguments.output}: {counts}, {arguments.output.stat().st_size / 1e6:,.1f} MB")


def _embed_types(elmo: Elmo, arguments: argparse.Namespace) -> str:
    from elmokit.vectors.jobs.types import embed_types

    how = given(arguments, "split_sentences", "column", "layers", "batch_size", "min_count")
    done = embed_types(elmo, arguments.input, arguments.output, raw_text=arguments.tokenize, **how)
    return f"{plural(done.num_types, 'word')} of {plural(done.num_tokens, 'token')}"


def _embed_fasta(elmo: Elmo, arguments: argparse.Namespace) -> str:
    from elmokit.vectors.jobs.proteins import embed_fasta

    how = given(arguments, "layers", "per_protein", "resume")
    done = embed_fasta(elmo, arguments.input, arguments.output, **how)
    return f"{plural(done.num_lines, 'protein')}, {plural(done.num_tokens, 'vector')}"


def _embed_with(arguments: argparse.Namespace) -> str:
    from elmokit.integrations.embed_with import embed_with

    system, colon, model = arguments.system.partition(":")
    if not colon:
        raise ValueError(f"--with {arguments.system}: expected SYSTEM:MODEL, such as static:vectors.bin")
    how = given(arguments, "column")
    done = embed_with(system, model, arguments.input, arguments.output, raw_text=arguments.tokenize, **how)
    return f"{plural(done.num_lines, 'line')}, {plural(done.num_tokens, 'token')}"


def _embed_with_elmo(elmo: Elmo, arguments: argparse.Namespace) -> str:
    from elmokit.vectors.jobs.embed_file import embed_file

    how = given(arguments, "split_sentences", "column", "layers", "batch_size", "resume")
    done = embed_file(elmo, arguments.input, arguments.output, raw_text=arguments.tokenize, **how)
    line = "sentence" if arguments.split_sentences else "line"
    return f"{plural(done.num_lines, line)}, {plural(done.num_tokens, 'token')}"


def open_elmo(arguments: argparse.Namespace, **options: Any) -> Elmo:
    """The model of `add_model`; one that is not there is refused first, because importing torch takes seconds."""
    from elmokit.formats.names import DEFAULT_MODEL, resolve_model

    model = DEFAULT_MODEL if arguments.model is None else arguments.model
    resolve_model(model)

    from elmokit.elmo.elmo import Elmo

    return Elmo.from_pretrained(model, arguments.weights, device=arguments.device, **options)


def layer_choice(text: str) -> Layers:
    """What `--layers` says; Elmo.encode refuses what is none of these."""
    weights, number = numbers_between_commas(text), whole_number(text)
    if weights is not None:
        return weights
    return text if number is None else number  # type: ignore[return-value]


def _add_cache(parser: Parser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("show", "clear"), default="show", help="list it, or remove it (default: show)"
    )
    parser.option("--cache DIR", "folder of the cache (default: ~/.cache/elmokit)", type=Path)
    parser.option("--model F", "only those of the model whose fingerprint starts with F", default="")


def _cache(arguments: argparse.Namespace) -> None:
    """Show or clear the cached activations of frozen biLMs."""
    from datetime import datetime

    from elmokit.system.python import default_cache
    from elmokit.vectors.cache_folder import LIMIT_VARIABLE, cache_limit, cached_pieces, clear_cache

    folder = arguments.cache or default_cache()
    if arguments.action == "clear":
        print(f"{folder}: {clear_cache(folder, model=arguments.model) / 1e6:,.1f} MB freed")
        return
    found = cached_pieces(folder, model=arguments.model)
    megabytes, limit = sum(piece.num_bytes for piece in found) / 1e6, cache_limit() / 1e6
    print(f"{folder}: {megabytes:,.1f} MB, at most {limit:,.1f} MB ({LIMIT_VARIABLE})")
    for model in sorted({piece.model for piece in found}):
        pieces = [piece for piece in found if piece.model == model]
        megabytes = sum(piece.num_bytes for piece in pieces) / 1e6
        first, last = (datetime.fromtimestamp(piece.last_used) for piece in (pieces[0], pieces[-1]))
        print(
            f"{model}  {megabytes:,.1f} MB in {plural(len(pieces), 'piece')}, "
            f"last used {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
        )


VERBS = (("embed", _add_embed, _embed), ("cache", _add_cache, _cache))
