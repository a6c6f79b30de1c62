"""Verbs of pretraining: from raw text to a biLM, and what it is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from elmokit.cli.verb import Verb


def _add_prepare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "raw", nargs="+", type=Path, metavar="RAW", help="text: plain, .gz or .xz; a blank line ends a document"
    )
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="a new folder")
    parser.add_argument(
        "--language",
        choices=("en", "ko", "other"),
        default="other",
        help="en and ko drop sentences that are mostly in another script (default: other, which drops none)",
    )
    parser.add_argument(
        "--unit",
        choices=("eojeol", "morphemes"),
        default="eojeol",
        help="tokens of Korean: as it is spaced, punctuation split (the default), or morphemes (needs 'elmokit[ko]')",
    )
    parser.add_argument("--min-tokens", type=int, metavar="N", help="drop shorter sentences (default: 4)")
    parser.add_argument("--max-tokens", type=int, metavar="N", help="drop longer sentences (default: 100)")
    parser.add_argument("--keep-duplicates", action="store_true", help="keep sentences that were there before")
    parser.add_argument("--no-nfc", action="store_true", help="keep each character's spelling (default: Unicode's NFC)")
    parser.add_argument(
        "--held-out", type=_share, metavar="SHARE", help="of the documents, as 0.5%% or 0.005 (default: 0.5%%)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of shuffling and holding out (default: %(default)s)")
    parser.add_argument(
        "--shard-megabytes", type=float, metavar="N", help="text in a shard, before it is packed (default: 40)"
    )


def _prepare(arguments: argparse.Namespace) -> None:
    """Make a corpus of raw text: sentences, tokens, no duplicates, shuffled shards and held-out text."""
    from elmokit.corpus.prepare import Preparation, prepare

    given = {name: getattr(arguments, name) for name in ("min_tokens", "max_tokens", "held_out", "shard_megabytes")}
    how = Preparation(
        language=arguments.language,
        unit=arguments.unit,
        nfc=not arguments.no_nfc,
        keep_duplicates=arguments.keep_duplicates,
        seed=arguments.seed,
        **{name: value for name, value in given.items() if value is not None},
    )
    print(prepare(arguments.raw, arguments.output, how).text())
    print(arguments.output)


def _add_vocabulary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="tokenised text, one sentence a line")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="one token a line")
    parser.add_argument("--min-count", type=int, default=1, metavar="N", help="leave out rarer tokens (default: 1)")
    parser.add_argument("--max-size", type=int, metavar="N", help="lines at most, <S>, </S> and <UNK> among them")


def _vocabulary(arguments: argparse.Namespace) -> None:
    """Count the tokens of text; write them, the most frequent first."""
    from elmokit.corpus.vocabulary_counts import write_vocabulary

    summary = write_vocabulary(
        arguments.shards, arguments.output, min_count=arguments.min_count, max_size=arguments.max_size
    )
    print(summary.text())
    print(arguments.output)


def _add_pretrain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", nargs="*", type=Path, metavar="SHARD", help="tokenised text, one sentence a line")
    parser.add_argument("--vocabulary", type=Path, metavar="FILE", help="one token a line, most frequent first")
    parser.add_argument(
        *("--run", "--run-dir"),  # torchrun takes --run for its own --run-path
        type=Path,
        dest="run_dir",
        metavar="DIR",
        help="a new folder for all that the run writes",
    )
    parser.add_argument(
        "--recipe", metavar="NAME", help="tiny, mini, small, medium or original: the sizes and settings (default: mini)"
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="change settings of the recipe"
    )
    parser.add_argument(
        "--held-out",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="text to measure on: every evaluate_every steps, and after the last",
    )
    parser.add_argument("--resume", type=Path, metavar="DIR", help="go on with the run in this folder")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")
    parser.set_defaults(when_interrupted="; elmokit pretrain --resume DIR goes on from the last checkpoint")


def _pretrain(arguments: argparse.Namespace) -> None:
    """Train a biLM on text, or go on with a run."""
    _check_pretrain(arguments)
    from elmokit.pretraining.config import with_settings
    from elmokit.pretraining.recipes import recipe
    from elmokit.pretraining.train import pretrain, resume

    if arguments.resume:
        run_dir = resume(arguments.resume, arguments.set, device=arguments.device)
    else:
        run_dir = pretrain(
            arguments.shards,
            vocabulary_path=arguments.vocabulary,
            run_dir=arguments.run_dir,
            config=with_settings(recipe(arguments.recipe or "mini"), arguments.set),
            held_out=arguments.held_out,
            device=arguments.device,
        )
    print(run_dir)


def _add_finetune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a bundled model's name, a folder, or an options.json")
    parser.add_argument("shards", nargs="+", type=Path, metavar="SHARD", help="tokenised text, one sentence a line")
    parser.add_argument(
        *("--run", "--run-dir"), type=Path, dest="run_dir", required=True, metavar="DIR", help="a new folder"
    )
    parser.add_argument(
        "--held-out", nargs="+", type=Path, default=[], metavar="FILE", help="text that says when to stop"
    )
    parser.add_argument(
        "--vocabulary", type=Path, metavar="FILE", help="of the domain, for a new softmax (default: the model's own)"
    )
    parser.add_argument(
        "--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="change settings of the training"
    )
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if MODEL is an options.json")
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")
    parser.set_defaults(when_interrupted="; elmokit pretrain --resume DIR goes on from the last checkpoint")


def _finetune(arguments: argparse.Namespace) -> None:
    """Let a trained biLM go on with the text of a domain; stops when held-out text gets no better."""
    from elmokit.pretraining.finetune import finetune

    run_dir = finetune(
        arguments.model,
        arguments.shards,
        run_dir=arguments.run_dir,
        settings=arguments.set,
        weights=arguments.weights,
        vocabulary_path=arguments.vocabulary,
        held_out=arguments.held_out,
        device=arguments.device,
    )
    print(run_dir)


def _add_perplexity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a bundled model's name, a folder, or an options.json")
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="tokenised text, one sentence a line; several have a row each, and one together",
    )
    parser.add_argument("--weights", metavar="FILE", help="the HDF5 weights, if MODEL is an options.json")
    parser.add_argument(
        "--carry-state",
        action="store_true",
        help="read each file as a stream, as bilm-tf does, not sentence by sentence",
    )
    parser.add_argument(
        "--bands", action="store_true", help="split by how frequent the predicted word is: its rank in the vocabulary"
    )
    parser.add_argument(
        "--top",
        type=int,
        metavar="N",
        help="name the N words that cost most in each direction: by the sum of their losses, <UNK> and </S> included",
    )
    parser.add_argument(
        "--top-min-count",
        type=int,
        default=1,
        metavar="N",
        help="leave words out of these that were predicted fewer than N times (default: 1, which leaves out none)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write everything there too; bands and top words of every file",
    )


def _perplexity(arguments: argparse.Namespace) -> None:
    """Measure how well a model predicts text, in both directions, with the full softmax."""
    from contextlib import nullcontext

    from elmokit.model.bundled import find_model
    from elmokit.scoring.breakdown import measure_files
    from elmokit.system.files import atomic_write

    with atomic_write(arguments.json) if arguments.json else nullcontext() as unfinished:
        table = measure_files(
            str(find_model(arguments.model)),
            arguments.files,
            num_words=arguments.top,
            min_count=arguments.top_min_count,
            carry_state=arguments.carry_state,
            weights=arguments.weights,
        )
        if unfinished:
            unfinished.write_text(table.to_json(), encoding="utf-8")
    print(table.text(bands=arguments.bands))


def _check_pretrain(arguments: argparse.Namespace) -> None:
    given = {
        "SHARD": arguments.shards,
        "--vocabulary FILE": arguments.vocabulary,
        "--run DIR": arguments.run_dir,
    }
    if arguments.resume:
        own = given | {"--recipe NAME": arguments.recipe, "--held-out FILE": arguments.held_out}
        superfluous = [name for name, value in own.items() if value]
        if superfluous:
            raise ValueError(f"--resume takes the run's own; leave out {', '.join(superfluous)}")
    elif missing := [name for name, value in given.items() if not value]:
        raise ValueError(f"a new run needs {', '.join(missing)} too (to go on with an old one: --resume DIR)")


def _share(text: str) -> float:
    """`0.5%` or `0.005`; argparse makes a line of the ValueError."""
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)


VERBS: Sequence[Verb] = (
    ("prepare", _add_prepare, _prepare),
    ("vocabulary", _add_vocabulary, _vocabulary),
    ("pretrain", _add_pretrain, _pretrain),
    ("finetune", _add_finetune, _finetune),
    ("perplexity", _add_perplexity, _perplexity),
)
