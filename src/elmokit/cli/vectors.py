"""Commands of vectors: embed, and the cache of activations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from elmokit.cli.options import Parser, check_model, check_option, given, open_elmo
from elmokit.system.messages import plural, printable
from elmokit.text.corpora.cells import layer_choice


def add_embed(parser: Parser) -> None:
    add = parser.add_argument
    text = "text, one sentence per line (plain or compressed; - for stdin), or a Parquet or Arrow file, one per row"
    add("input", metavar="INPUT", help=text)
    output = "*.h5, *.npz, *.npy, *.safetensors, *.parquet, *.arrow or *.tsv; with --types *.vec or *.tsv"
    add("-o", "--output", metavar="OUT", type=Path, required=True, help=f"output file: {output}")
    column = "column of INPUT: text, or lists of tokens (Parquet, Arrow, JSON lines, TSV, CSV), or form of CoNLL-U"
    add("--column", metavar="NAME", help=column)
    parser.add_as_text()
    parser.add_model(has_default=True)
    layers = "top, average, all, the number of a layer, or weights: 0.1,0.3,0.6 (default: top; for *.h5 all)"
    add("--layers", type=layer_choice, help=layers)
    add("--batch-size", metavar="N", type=int, help="sentences per batch (default: 128)")
    precision = "float32 is exact; bfloat16 and int8 are faster but approximate (default: float32)"
    add("--precision", choices=("float32", "bfloat16", "int8"), help=precision)
    parser.add_flag("--tokenize", "split the lines into tokens, and write these into OUT.tokens.txt")
    split = "split raw text, such as a book, into sentences, write these into OUT.sentences.txt, and tokenise them"
    parser.add_flag("--split-sentences", split)
    kinds = parser.add_mutually_exclusive_group()
    types = "one vector per word, the average over its occurrences; OUT is *.vec (word2vec's text format) or *.tsv"
    kinds.add_argument("--types", action="store_true", help=types)
    fasta = "INPUT is FASTA: one vector per residue of each protein; the names go into OUT.names.txt"
    kinds.add_argument("--fasta", action="store_true", help=fasta)
    system = "vectors of another system, such as static:vectors.bin (docs/comparators.md); OUT is *.npy"
    kinds.add_argument("--with", metavar="SYSTEM:MODEL", help=system)
    add("--min-count", metavar="N", type=int, help="with --types: leave out words with fewer occurrences (default: 5)")
    parser.add_flag("--per-protein", "with --fasta: one vector per protein, the mean of its residues")
    parser.add_flag("--resume", "continue an interrupted job; keep the finished lines if it fails again")
    parser.add_flag("--overwrite", "replace OUT if it exists")
    parser.set_defaults(when_interrupted="; run the same command with --resume to continue")


def run_embed(arguments: argparse.Namespace) -> None:
    from elmokit.files.lines import check_inputs
    from elmokit.formats.find import model_name
    from elmokit.vectors.arrow import is_table
    from elmokit.vectors.writer import check_is_new

    with_system: str | None = getattr(arguments, "with")
    check_option(arguments, "--per-protein", needs="--fasta")
    check_option(arguments, "--min-count", needs="--types")
    check_option(arguments, "--types", without=["--resume"])
    check_option(
        arguments, "--fasta", without=("--tokenize", "--split-sentences", "--column", "--batch-size", "--as-text")
    )
    of_elmo = ("--model", "--weights", "--layers", "--batch-size", "--precision", "--resume", "--split-sentences")
    check_option(arguments, "--with", without=of_elmo)
    if not is_table(Path(arguments.input)):
        check_inputs(arguments.input)
    check_model(arguments, arguments.input, output=arguments.output)
    check_is_new(arguments.output, overwrite=arguments.overwrite or arguments.resume)
    if arguments.types or with_system:
        arguments.when_interrupted = ""  # they have no --resume
    names = ("split_sentences", "column", "as_text", "layers", "batch_size", "min_count", "per_protein", "resume")
    how = given(arguments, *names, "overwrite", raw_text="tokenize")
    if with_system:
        counts, model = _embed_with(arguments, with_system, how), with_system
    else:
        elmo = open_elmo(arguments, **given(arguments, "precision"))
        model = model_name(elmo.name or "")
        counts = _embed(arguments, elmo, how)
    size = arguments.output.stat().st_size / 1e6
    print(f"{arguments.output}: {counts}, {size:,.1f} MB, vectors of {printable(model)}")


def _embed(arguments: argparse.Namespace, elmo: Any, how: dict[str, Any]) -> str:
    from elmokit.vectors.embed_file import embed_file
    from elmokit.vectors.embed_types import embed_types
    from elmokit.vectors.proteins import embed_fasta

    if arguments.types:
        types = embed_types(elmo, arguments.input, arguments.output, **how)
        return f"{plural(types.num_types, 'word')} of {plural(types.num_tokens, 'token')}"
    embed = embed_fasta if arguments.fasta else embed_file
    done = embed(elmo, arguments.input, arguments.output, **how)
    unit = "protein" if arguments.fasta else "sentence" if arguments.split_sentences else "line"
    return f"{plural(done.num_lines, unit)}, {plural(done.num_tokens, 'vector' if arguments.fasta else 'token')}"


def _embed_with(arguments: argparse.Namespace, name: str, how: dict[str, Any]) -> str:
    from elmokit.integrations.embed_with import embed_with

    system, colon, model = name.partition(":")
    if not colon:
        raise ValueError(f"--with {name}: expected SYSTEM:MODEL, such as static:vectors.bin")
    done = embed_with(system, model, arguments.input, arguments.output, **how, **given(arguments, "device"))
    return f"{plural(done.num_lines, 'line')}, {plural(done.num_tokens, 'token')}"


def add_cache(parser: Parser) -> None:
    add = parser.add_argument
    actions = "list it, or remove it (default: %(default)s)"
    add("action", nargs="?", choices=("show", "clear"), default="show", help=actions)
    add("--cache", metavar="DIR", type=Path, help="folder of the cache (default: ~/.cache/elmokit)")
    add("--model", metavar="F", default="", help="only of the model with a fingerprint that starts with F")


def run_cache(arguments: argparse.Namespace) -> None:
    from datetime import datetime

    from elmokit.formats.find import imported_models
    from elmokit.system.paths import LIMIT_VARIABLE, cache_limit, default_cache
    from elmokit.vectors.cache_folder import cached_pieces, clear_cache

    folder = arguments.cache or default_cache()
    models = [] if arguments.model else imported_models(folder)
    if arguments.action == "clear":
        freed = clear_cache(folder, model=arguments.model) + sum(one.remove() for one in models)
        print(f"{folder}: {freed / 1e6:,.1f} MB freed")
        return
    found = cached_pieces(folder, model=arguments.model)
    megabytes, limit = sum(piece.num_bytes for piece in found) / 1e6, cache_limit() / 1e6
    print(f"{folder}: {megabytes:,.1f} MB, at most {limit:,.1f} MB ({LIMIT_VARIABLE})")
    for model in sorted({piece.name for piece in found}):
        pieces = [piece for piece in found if piece.name == model]
        megabytes = sum(piece.num_bytes for piece in pieces) / 1e6
        first, last = (datetime.fromtimestamp(piece.last_used) for piece in (pieces[0], pieces[-1]))
        print(
            f"{model}  {megabytes:,.1f} MB in {plural(len(pieces), 'piece')}, "
            f"last used {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M}"
        )
    if models:
        megabytes = sum(one.num_bytes for one in models) / 1e6
        print(f"imported models: {megabytes:,.1f} MB, at most {limit:,.1f} MB ({LIMIT_VARIABLE})")
    for one in models:
        used = datetime.fromtimestamp(one.last_used)
        print(f"{one.name}  {one.num_bytes / 1e6:,.1f} MB, last used {used:%Y-%m-%d %H:%M}")
