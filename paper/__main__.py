"""`python -m paper table1`: prints a table of the paper, with our numbers, from paper/results.tsv; docs/paper.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paper.experiments import EXPERIMENTS, SCALES
from paper.results import Results
from paper.tables import VIEWS, table_text

MEASURABLE = ("table4", "table5", "senses-supervised", "table6", "table6-ko", "perplexity", "table7", "latin")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, or print tables if the first argument is the name of one; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and (given[0] in VIEWS or given[0] == "all"):
        given.insert(0, "show")
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for name, (run, *arguments_of_it) in COMMANDS.items():
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(function=run)
        if name in ("train", "measure"):
            command.set_defaults(when_interrupted="; the same command continues")
        for names, settings in arguments_of_it:
            command.add_argument(*names, **settings)
    arguments = parser.parse_args(given)
    if arguments.function is _show:  # without loading the command line of elmokit
        try:
            _show(arguments)
            sys.stdout.flush()
        except BrokenPipeError:  # `| head` has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    from elmokit.cli.main import execute

    return execute(arguments)


def _show(arguments: argparse.Namespace) -> None:
    """Print tables and figures as Markdown, from the numbers in paper/results.tsv."""
    results = Results()
    for name in VIEWS if "all" in arguments.names else arguments.names:
        print(table_text(results, name))


def _page(arguments: argparse.Namespace) -> None:
    """Write the page of results, a page for each table, and the figures."""
    from paper.page import write_pages

    print(*write_pages(Results(), arguments.output), sep="\n")


def _train(arguments: argparse.Namespace) -> None:
    """Train the runs of tables that paper/results.tsv and the folder of runs lack; `add` then adds them."""
    from elmokit.system.paths import default_cache
    from paper.train import Setup, check_data, missing_runs, train_runs

    tables = EXPERIMENTS if "all" in arguments.names else arguments.names
    setup = Setup(arguments.data, SCALES[arguments.scale], arguments.seeds, arguments.model)
    runs = setup.runs(tables, arguments.task)
    if not runs:
        raise ValueError(f"{', '.join(tables)} need no run of {', '.join(arguments.task)}")
    missing = missing_runs(runs, [] if arguments.again else Results().rows, arguments.results)
    if arguments.dry_run:
        print(*(run.name for run in missing), f"{len(missing)} of {len(runs)} runs are missing", sep="\n")
        check_data(missing)
    else:
        train_runs(missing, arguments.results, jobs=arguments.jobs, cache=default_cache())


def _add(arguments: argparse.Namespace) -> None:
    """Add finished runs, and the outcomes of their test items, to paper/results.tsv and items.npz."""
    from paper.train import Setup, add_runs

    planned = (run for scale in SCALES.values() for run in Setup(scale=scale, seeds=20).runs(EXPERIMENTS))
    given = {"data": arguments.data, "corpus_size": arguments.corpus_size}
    print(*add_runs(arguments.runs, Results(), planned, **given), sep="\n")


def _measure(arguments: argparse.Namespace) -> None:
    """Measure tables without training a task, and add them to the results; list missing data at the end."""
    from paper.probes import Request, measure

    names = MEASURABLE if "all" in arguments.names else arguments.names
    request = Request(
        *(Results(), arguments.data, tuple(arguments.model), arguments.word_vectors, arguments.results),
        corpus_size=arguments.corpus_size,
    )
    lacking: list[str] = []
    for name in names:
        try:
            measure(name, request)
        except FileNotFoundError as error:
            lacking.append(str(error) if len(names) == 1 else f"{name}: {error}")
    if lacking:
        raise FileNotFoundError(". ".join(lacking))


def _train_comparator(arguments: argparse.Namespace) -> None:
    """Train a system that ELMo is compared with on your text."""
    from paper.comparators.all_comparators import TRAININGS

    loss = TRAININGS[arguments.system](arguments.files, arguments.output, arguments.set)
    print(json.dumps({"model": str(arguments.output), "loss": loss}, ensure_ascii=False))


def _substitutes(arguments: argparse.Namespace) -> None:
    """List the words that fit best into the gap [] of a sentence, by a model of context2vec."""
    from paper.comparators.context2vec import read_context2vec

    model = read_context2vec(arguments.model)
    for sentence in arguments.sentences:
        found = model.substitutes(sentence.split(), known=arguments.known, number=arguments.number)
        print(sentence, *(f"  {score:.3f} {word}" for word, score in found), sep="\n")


def _embed(arguments: argparse.Namespace) -> None:
    """Write the vectors that a system trained here has for every line of a text file."""
    from elmokit.integrations.embed_with import check_paths, write_vectors
    from paper.comparators.all_comparators import open_comparator

    system, _, model = arguments.system.partition(":")
    words = arguments.word_vectors
    check_paths(arguments.output, arguments.input, model, *([] if words is None else [words]))
    layers = open_comparator(system, model, word_vectors=words)
    write_vectors(layers, arguments.input, arguments.output, model=model, raw_text=arguments.tokenize)


Argument = tuple[tuple[str, ...], dict[str, Any]]


def _argument(*names: str, **settings: Any) -> Argument:
    """What `add_argument` takes."""
    return names, settings


def _names(names: Sequence[str]) -> Argument:
    return _argument("names", nargs="+", choices=[*names, "all"], metavar="NAME", help=f"{', '.join(names)}, or all")


def _path(*names: str, about: str, default: Path | None = None, metavar: str = "FILE") -> Argument:
    end = f" (default: {default})" if default else ""
    return _argument(*names, type=Path, default=default, metavar=metavar, help=f"{about}{end}")


_DATA = _path("--data", about="folder of the data, see CONTRIBUTING.md", default=Path(".data"), metavar="DIR")
_RUNS = _path("--results", about="of the runs", default=Path("runs/reproduce"), metavar="FOLDER")
_VECTORS = _path("--word-vectors", about="word vectors that the system reads")
_OUTPUT = _argument("-o", "--output", type=Path, required=True, metavar="OUT", help="file or folder that is written")
_SIZE = _argument("--corpus-size", type=int, metavar="N", help="words of raw text that models of Latin have read")
COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], None], *tuple[Argument, ...]]] = {
    "show": (_show, _names(tuple(VIEWS))),
    "page": (_page, _path("-o", "--output", about="folder of results.md and its pages", default=Path("runs/pages"))),
    "train": (
        _train,
        _names(tuple(EXPERIMENTS)),
        _argument("--model", metavar="M", help="the biLM (default: every biLM of each table)"),
        _argument("--task", action="append", default=[], help="train for this data set only; can be repeated"),
        _argument("--scale", default="cpu", choices=SCALES, help="size of the runs (default: cpu)"),
        _argument("--seeds", type=int, metavar="N", help="number of seeds (default: set by the scale)"),
        _argument("--again", action="store_true", help="train runs that paper/results.tsv already has, too"),
        _argument("-j", "--jobs", type=int, default=1, metavar="N", help="training runs at a time (default: 1)"),
        _argument("--dry-run", action="store_true", help="list the training runs that are missing, and stop"),
        *(_RUNS, _DATA),
    ),
    "add": (
        _add,
        _argument(
            "runs", nargs="+", type=Path, metavar="RUN", help="finished run of the experiments, or of train tags"
        ),
        _argument("--data", default="", metavar="NAME", help="treebank of runs of train tags (default: its folder)"),
        _SIZE,
    ),
    "measure": (
        _measure,
        _names(MEASURABLE),
        _argument(
            *("--model",),
            action="append",
            default=[],
            metavar="M",
            help="a model, random:M, a file of vectors, or SYSTEM:M such as static:FILE; can be repeated",
        ),
        *(_VECTORS, _RUNS, _SIZE, _DATA),
    ),
    "embed": (
        _embed,
        _argument("system", metavar="SYSTEM:MODEL", help="such as cove:runs/cove; see docs/comparators.md"),
        _argument("input", metavar="INPUT", help="text, one sentence per line (plain, .gz or .xz)"),
        _argument("--tokenize", action="store_true", help="split the lines into tokens first"),
        *(_OUTPUT, _VECTORS),
    ),
    "train-comparator": (
        _train_comparator,
        _argument("system", choices=("cove", "context2vec"), help="see docs/comparators.md"),
        _argument("files", nargs="+", type=Path, metavar="FILE", help="shards of text; for cove TRAIN.en TRAIN.de"),
        _argument("--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="settings"),
        _OUTPUT,
    ),
    "substitutes": (
        _substitutes,
        _path("model", about="folder of `train-comparator context2vec`", metavar="MODEL"),
        _argument("sentences", nargs="+", metavar="SENTENCE", help="tokens with spaces between; one is [], the gap"),
        _argument("--known", metavar="WORD", help="a word that the substitutes should be near in meaning"),
        _argument("--number", type=int, default=10, metavar="N", help="words for each sentence (default: 10)"),
    ),
}

if __name__ == "__main__":
    sys.exit(main())
