"""Verbs of pretraining: text to a biLM, or a biLM to a domain."""

from __future__ import annotations

import argparse
from pathlib import Path

from elmokit.cli.verb import Parser, add_device, add_model, add_run, check_apart, check_needed, given


def _add_pretrain(parser: Parser) -> None:
    parser.add_argument(
        "shards",
        nargs="*",
        type=Path,
        metavar="SHARD",
        help="tokenised text, one sentence per line; with --resume only if the run's text has moved",
    )
    parser.option("--vocabulary FILE", "vocabulary: one token per line, most frequent first", type=Path)
    add_run(parser)
    parser.option("--recipe NAME", "sizes and settings: tiny, mini, small-en, small, medium, original (default: mini)")
    parser.option("--set FIELD=VALUE", "override settings of the recipe", nargs="+", action="extend", default=[])
    parser.option(
        "--held-out FILE",
        "text for held-out perplexity, measured every evaluate_every steps and after the last",
        nargs="+",
        type=Path,
        default=[],
    )
    parser.option("--resume DIR", "continue the run in this folder", type=Path)
    parser.option("--from-start", "with --resume: train again from the first step if no checkpoint can be read")
    add_device(parser)


def _pretrain(arguments: argparse.Namespace) -> None:
    """Train a biLM on text, or continue a run."""
    from elmokit.files.lines import check_inputs
    from elmokit.pretraining.recipes import recipe

    settings = ("--vocabulary", "--run", "--recipe", "--held-out")
    check_apart(arguments, "--resume", *settings, why=", which uses the settings of the run")
    check_needed(arguments, "--from-start", "--resume")
    needed = {"SHARD": arguments.shards, "--vocabulary FILE": arguments.vocabulary, "--run DIR": arguments.run_dir}
    missing = [name for name, value in needed.items() if not value]
    if missing and not arguments.resume:
        raise ValueError(f"a new run also needs {', '.join(missing)} (to continue an old one: --resume DIR)")
    check_inputs(*_texts(arguments))

    config = None if arguments.resume else recipe(arguments.recipe or "mini", arguments.set)

    from elmokit.pretraining.train import pretrain, resume_pretraining
    from elmokit.system.python import keep_freed_memory

    keep_freed_memory()
    if config is None:
        how = given(arguments, "shards", "from_start", "device")
        run_dir = resume_pretraining(arguments.resume, arguments.set, **how)
    else:
        how = given(arguments, "run_dir", "held_out", "device")
        run_dir = pretrain(arguments.shards, vocabulary_path=arguments.vocabulary, config=config, **how)
    print(run_dir)


def _add_finetune(parser: Parser) -> None:
    add_model(parser)
    parser.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="tokenised text, one sentence per line")
    add_run(parser, required=True)
    parser.option(
        "--held-out FILE",
        "held-out text; training stops when its perplexity stops improving",
        nargs="+",
        type=Path,
        default=[],
    )
    parser.option(
        "--vocabulary FILE", "vocabulary of the domain, for a new softmax (default: the model's own)", type=Path
    )
    parser.option("--set FIELD=VALUE", "override settings of the training", nargs="+", action="extend", default=[])


def _finetune(arguments: argparse.Namespace) -> None:
    """Continue training a biLM on domain text; stops when held-out perplexity stops improving."""
    from elmokit.files.lines import check_inputs
    from elmokit.formats.names import resolve_model

    check_inputs(*_texts(arguments))
    resolve_model(arguments.model)

    from elmokit.pretraining.finetune import finetune
    from elmokit.system.python import keep_freed_memory

    keep_freed_memory()
    how = given(arguments, "run_dir", "weights", "held_out", "device")
    run_dir = finetune(
        arguments.model, arguments.shards, settings=arguments.set, vocabulary_path=arguments.vocabulary, **how
    )
    print(run_dir)


def _texts(arguments: argparse.Namespace) -> list[Path]:
    return [path for path in (*arguments.shards, arguments.vocabulary, *(arguments.held_out or ())) if path]


VERBS = (("pretrain", _add_pretrain, _pretrain), ("finetune", _add_finetune, _finetune))
