"""`python -m paper table1`: prints a table of the paper, with our numbers, from paper/results.tsv; docs/paper.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from paper.experiments import EXPERIMENTS, SCALES
from paper.results import Results
from paper.tables import VIEWS, table_text

RUNS = Path("runs") / "reproduce"
"""Folder of the runs of tasks, which tables share."""
MEASURABLE = (
    "table4",
    "table5",
    "senses-supervised",
    "table6",
    "table6-ko",
    "perplexity",
    "table7",
    "latin",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, or print tables if the first argument is the name of one; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and (given[0] in VIEWS or given[0] == "all"):
        given.insert(0, "show")
    parser = argparse.ArgumentParser(prog="python -m paper", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for name, add_arguments, run in COMMANDS:
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(function=run)
        add_arguments(command)
    arguments = parser.parse_args(given)
    if arguments.function is _show:
        return _show(arguments) or 0  # without loading the command line of elmokit
    from elmokit.cli.main import execute

    return execute(arguments)


def _add_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="+", choices=[*VIEWS, "all"], metavar="NAME", help=f"{', '.join(VIEWS)}, or all")


def _show(arguments: argparse.Namespace) -> None:
    """Print tables and figures as Markdown, from the numbers in paper/results.tsv."""
    results = Results()
    for name in VIEWS if "all" in arguments.names else arguments.names:
        print(table_text(results, name))


def _add_page(parser: argparse.ArgumentParser) -> None:
    _add_output(parser, "folder of results.md and its pages")


def _page(arguments: argparse.Namespace) -> None:
    """Write the page of results, a page for each table, and the figures."""
    from paper.page import write_pages

    for path in write_pages(Results(), arguments.output):
        print(path)


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("names", nargs="+", choices=[*EXPERIMENTS, "all"], metavar="NAME", help=f"{', '.join(EXPERIMENTS)}, or all")
    add("--model", metavar="M", help="the biLM (default: those of each table)")
    add("--results", type=Path, default=RUNS, metavar="FOLDER", help="of the runs (default: %(default)s)")
    add("--task", action="append", default=[], metavar="TASK", help="train for this data set only; can be repeated")
    add("--scale", default="cpu", choices=SCALES, help="size of the runs (default: cpu)")
    add("--seeds", type=int, metavar="N", help="number of seeds (default: that of the scale)")
    add("--again", action="store_true", help="train runs that paper/results.tsv already has, too")
    add("-j", "--jobs", type=int, default=1, metavar="N", help="training runs at a time (default: 1)")
    add("--dry-run", action="store_true", help="list the training runs that are missing, and stop")
    _add_data(parser)


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
        return
    train_runs(missing, arguments.results, jobs=arguments.jobs, cache=default_cache())


def _add_add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "runs", nargs="+", type=Path, metavar="RUN", help="folder of a finished run of the experiments or of train tags"
    )
    add("--data", default="", metavar="NAME", help="treebank of runs of train tags (default: name of its folder)")
    add("--corpus-size", type=int, metavar="N", help="words of raw text that vectors or biLM of these runs have read")


def _add(arguments: argparse.Namespace) -> None:
    """Add finished runs, and the outcomes of their test items, to paper/results.tsv and items.npz."""
    from paper.train import Setup, add_runs

    planned = [run for scale in SCALES.values() for run in Setup(scale=scale, seeds=20).runs(EXPERIMENTS)]
    given = {"data": arguments.data, "corpus_size": arguments.corpus_size}
    print(*add_runs(arguments.runs, Results(), planned, **given), sep="\n")


def _add_measure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("names", nargs="+", choices=[*MEASURABLE, "all"], metavar="NAME", help=f"{', '.join(MEASURABLE)}, or all")
    model = "a model, random:M, a file of vectors, or SYSTEM:M such as static:FILE; can be repeated"
    add("--model", action="append", default=[], metavar="M", help=f"{model} (default: what the table compares)")
    add("--word-vectors", type=Path, metavar="FILE", help="word vectors of a SYSTEM that reads some")
    add("--results", type=Path, default=RUNS, metavar="FOLDER", help="of fine-tuned biLMs (default: %(default)s)")
    add("--corpus-size", type=int, metavar="N", help="words of raw text that the biLMs of Latin have read")
    _add_data(parser)


def _measure(arguments: argparse.Namespace) -> None:
    """Measure tables without training a task, and add them to the results; missing data are named at the end."""
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
            if len(names) == 1:
                raise
            lacking.append(f"{name}: {error}")
    if lacking:
        raise FileNotFoundError(". ".join(lacking))


def _add_train_comparator(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("system", choices=("cove", "context2vec"), help="see docs/comparators.md")
    add("files", nargs="+", type=Path, metavar="FILE", help="shards of tokenised text; for cove TRAIN.en TRAIN.de")
    add("-o", "--output", type=Path, required=True, metavar="OUT", help="folder of the model that is written")
    add("--set", nargs="+", action="extend", default=[], metavar="FIELD=VALUE", help="settings of the training")


def _train_comparator(arguments: argparse.Namespace) -> None:
    """Train a system that ELMo is compared with on your text."""
    from paper.comparators.all_comparators import TRAININGS

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
    from paper.comparators.context2vec import read_context2vec

    model = read_context2vec(arguments.model)
    for sentence in arguments.sentences:
        found = model.substitutes(sentence.split(), known=arguments.known, number=arguments.number)
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
    from elmokit.integrations.embed_with import check_paths, write_vectors
    from paper.comparators.all_comparators import open_comparator

    system, _, model = arguments.system.partition(":")
    words = arguments.word_vectors
    check_paths(arguments.output, arguments.input, model, *([] if words is None else [words]))
    layers = open_comparator(system, model, word_vectors=words)
    write_vectors(layers, arguments.input, arguments.output, model=model, raw_text=arguments.tokenize)


def _add_data(parser: argparse.ArgumentParser) -> None:
    about = "folder of the data, see CONTRIBUTING.md (default: %(default)s)"
    parser.add_argument("--data", type=Path, default=Path(".data"), metavar="DIR", help=about)
    parser.set_defaults(when_interrupted="; the same command continues")


def _add_output(parser: argparse.ArgumentParser, about: str) -> None:
    default = Path("runs") / "pages"
    parser.add_argument("-o", "--output", type=Path, default=default, help=f"{about} (default: %(default)s)")


COMMANDS: Sequence[tuple[str, Callable[[argparse.ArgumentParser], None], Callable[[argparse.Namespace], None]]] = (
    ("show", _add_show, _show),
    ("page", _add_page, _page),
    ("train", _add_train, _train),
    ("add", _add_add, _add),
    ("measure", _add_measure, _measure),
    ("embed", _add_embed, _embed),
    ("train-comparator", _add_train_comparator, _train_comparator),
    ("substitutes", _add_substitutes, _substitutes),
)

if __name__ == "__main__":
    sys.exit(main())
