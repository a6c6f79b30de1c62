"""Commands of pretraining: pretrain and finetune."""

from __future__ import annotations

import argparse
import ctypes
import sys
from pathlib import Path

from elmokit.cli.options import Parser, check_model, check_new_run, check_option, given

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # from glibc's malloc.h
_SHARDS = "tokenised text, one sentence per line, or the folder that prepare wrote"


def add_pretrain(parser: Parser) -> None:
    add = parser.add_argument
    add("shards", metavar="SHARD", type=Path, nargs="*", help=f"{_SHARDS}; with --resume only if it has moved")
    add("--vocabulary", metavar="FILE", type=Path, help="vocabulary: one token per line, most frequent first")
    _add_run(parser)
    recipes = "sizes and settings: tiny, mini, small-en, small, medium, original (default: mini)"
    add("--recipe", metavar="NAME", help=recipes)
    parser.add_set("recipe")
    held_out = "text for held-out perplexity, measured every evaluate_every steps and after the last"
    add("--held-out", metavar="FILE", type=Path, nargs="+", default=[], help=held_out)
    add("--resume", metavar="DIR", type=Path, help="continue the run in this folder")
    parser.add_as_text()
    parser.add_device()


def run_pretrain(arguments: argparse.Namespace) -> None:
    from elmokit.pretraining.recipes import recipe

    check_option(arguments, "--resume", without=("--vocabulary", "--run", "--recipe", "--held-out"))
    needed = {"SHARD": arguments.shards, "--vocabulary FILE": arguments.vocabulary, "--run DIR": arguments.run}
    check_new_run(arguments, needed)
    _check_texts(arguments)
    config = None if arguments.resume else recipe(arguments.recipe or "mini", arguments.set)

    from elmokit.pretraining.train import pretrain, resume_pretraining

    keep_freed_memory()
    if config is None:
        run_dir = resume_pretraining(arguments.resume, arguments.set, **given(arguments, "shards", "device"))
    else:
        how = given(arguments, "held_out", "as_text", "device", vocabulary_path="vocabulary", run_dir="run")
        run_dir = pretrain(arguments.shards, config=config, **how)
    print(run_dir)


def add_finetune(parser: Parser) -> None:
    add = parser.add_argument
    parser.add_model()
    add("shards", metavar="SHARD", type=Path, nargs="+", help=_SHARDS)
    _add_run(parser, required=True)
    held_out = "held-out text; training stops when its perplexity stops improving"
    add("--held-out", metavar="FILE", type=Path, nargs="+", default=[], help=held_out)
    vocabulary = "vocabulary of the domain, for a new softmax (default: the model's own)"
    add("--vocabulary", metavar="FILE", type=Path, help=vocabulary)
    parser.add_set("training")
    parser.add_as_text()


def run_finetune(arguments: argparse.Namespace) -> None:
    _check_texts(arguments)
    check_model(arguments, output=None)

    from elmokit.pretraining.finetune import finetune

    keep_freed_memory()
    how = given(arguments, "weights", "held_out", "as_text", "device", vocabulary_path="vocabulary", run_dir="run")
    print(finetune(arguments.model, arguments.shards, settings=arguments.set, **how))


def _add_run(parser: Parser, *, required: bool = False) -> None:
    text = "output folder of the run (must not contain a run)"
    # torchrun reads --run as its own --run-path, so --run-dir means the same
    parser.add_argument("--run", "--run-dir", metavar="DIR", type=Path, required=required, help=text)


def _check_texts(arguments: argparse.Namespace) -> None:
    """Refuse files that cannot be read, also those in folders that `prepare` wrote."""
    from elmokit.corpus.manifest import held_out_file, training_files
    from elmokit.files.lines import check_inputs

    shards = [file for path in arguments.shards for file in training_files(path)]
    vocabulary = [] if arguments.vocabulary is None else [arguments.vocabulary]
    check_inputs(*shards, *vocabulary, *map(held_out_file, arguments.held_out))


def keep_freed_memory() -> None:
    """Make glibc keep freed memory, so that steps do not request, zero and return memory each time.

    On other systems this does nothing. It changes the whole process until its end, so only the command line calls it,
    not the library.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, 1 << 30)
        set_option(_M_TRIM_THRESHOLD, 2**31 - 1)
