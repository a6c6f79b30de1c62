"""`python -m paper table1`: the tables of the paper, made from runs that are trained here or given; docs/paper.md."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from elmokit.cli.main import execute
from elmokit.cli.options import Parser
from elmokit.report.output import check_folder
from elmokit.system.python import default_cache
from paper.comparators.all_comparators import VERBS as COMPARATOR_VERBS
from paper.page import write_reproduction, write_results
from paper.plan import Setup
from paper.reproduction import REPRODUCTIONS, Reproduction, Request, find_reproduction
from paper.results import RESULTS_NAME
from paper.runs import make_setup, read_evidence
from paper.train import Training, check_data, missing_runs, plan_runs, train_for

RUNS = Path("runs") / "reproduce"
"""Folder of the runs of tasks, which tables share."""
CONTINUES = "; the same command continues"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb, or make tables if the first argument is the name of one; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    names = [name for name, _, _ in VERBS]
    if given and not given[0].startswith("-") and given[0] not in names:
        given.insert(0, TABLES)
    parser = Parser(prog="python -m paper", description=__doc__)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)
    for name, add_arguments, run in VERBS:
        command = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        command.set_defaults(function=run)
        add_arguments(command)
    return execute(parser.parse_args(given))


def _add_tables(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"tables and figures: {', '.join(REPRODUCTIONS)}, or all of them. Paths of runs, or of a "
        "results.jsonl, after the names: the tables are made from these, and nothing is computed",
    )
    add(
        "--model",
        action="append",
        default=[],
        metavar="M",
        help="what is measured: a model, random:M for one of its size with random weights, a file of vectors, or "
        "SYSTEM:M as in `embed --with`, such as static:FILE; can be repeated (default: what the table compares). "
        "Of blimp and reading-times: a model. Of a table of runs: their biLM",
    )
    add("--word-vectors", type=Path, metavar="FILE", help="word vectors of a SYSTEM that reads some")
    results = f"folder of what is computed, where what is there is kept (default: runs/TABLE), or of runs ({RUNS})"
    add("--results", type=Path, metavar="FOLDER", help=results)
    _add_setup(parser)
    _add_output(parser, "TABLE.md")
    parser.set_defaults(when_interrupted=CONTINUES)


def _tables(arguments: argparse.Namespace) -> None:
    """Write tables and figures of a paper with our numbers next to the printed ones; compute what runs do not give."""
    tables, given = _tables_and_paths(arguments.names)
    _existing(given)
    check_folder(arguments.output)  # before hours of computing
    scale = [] if arguments.scale == "cpu" else ["--scale", arguments.scale]
    seeds = [] if arguments.seeds is None else ["--seeds", str(arguments.seeds)]
    lacking: list[str] = []
    for table in tables:
        if table.compute is not None and given and arguments.model:
            raise ValueError("give either the paths of results or the models to measure, not both")
        if table.compute is None or given:
            paths: Sequence[Path] = given or [arguments.results or RUNS]
        else:
            folder: Path = arguments.results or Path("runs")
            if arguments.results is None or len(tables) > 1:
                folder /= table.name
            folder.mkdir(parents=True, exist_ok=True)
            table.compute(Request(arguments.data, folder, tuple(arguments.model), arguments.word_vectors))
            paths = [folder / RESULTS_NAME]
        own: list[str] = arguments.model if table.plan is not None else []
        if len(own) > 1:
            raise ValueError(f"{len(own)} models; {table.name} is made of training runs, which take one --model")
        evidence = read_evidence(_setup(arguments, own[0] if own else table.model), paths)
        given_too = [*(f"--model={model}" for model in own), *scale, *seeds, "-o", str(arguments.output)]
        command = shlex.join(["python", "-m", "paper", table.name, *map(str, paths), *given_too])
        page = write_reproduction(table, evidence, arguments.output, command=command)
        if page is None:
            lacking.append(f"{table.name}: {', '.join(map(str, paths))} have no {table.source}")
        else:
            print(page)
    if lacking:
        raise ValueError(". ".join(lacking))


def _tables_and_paths(given: Sequence[str]) -> tuple[list[Reproduction], list[Path]]:
    """Names of tables, of which there is at least one, come first; the rest are paths."""
    names = list(REPRODUCTIONS) if given[0] == "all" else given[:1]
    paths = given[1:]
    while paths and paths[0] in REPRODUCTIONS:
        names, paths = [*names, paths[0]], paths[1:]
    return [find_reproduction(name) for name in names], [Path(path) for path in paths]


def _existing(paths: list[Path]) -> list[Path]:
    """The paths. Raises FileNotFoundError for one that is not there, which would be left out of a page."""
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path}: there is no such file or folder; expected a table, or runs or results")
    return paths


def _add_train(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("names", nargs="+", metavar="NAME", help="tables and figures, or all")
    add("--model", metavar="M", help="the biLM (default: that of each table)")
    add("--results", type=Path, default=RUNS, metavar="FOLDER", help="(default: %(default)s)")
    task = "train for this task only, such as semantic-roles; can be repeated (default: all that the tables need)"
    add("--task", action="append", default=[], metavar="TASK", help=task)
    finished = "folder or runs.jsonl of runs that are there already, and are not trained again; can be repeated"
    add("--finished", type=Path, action="append", default=[], metavar="RUNS", help=finished)
    _add_setup(parser)
    add("-j", "--jobs", type=int, default=1, metavar="N", help="training runs at a time (default: 1)")
    add("--dry-run", action="store_true", help="list the training runs that are not finished, and stop")
    parser.set_defaults(when_interrupted=CONTINUES)


def _train(arguments: argparse.Namespace) -> None:
    """Train the runs that the plans of tables and figures name and the folder of runs lacks."""
    tables, paths = _tables_and_paths(arguments.names)
    if paths:
        raise ValueError(f"{paths[0]}: `train` takes the names of tables alone; give runs with --finished")
    training = Training(
        plans=[(table, _setup(arguments, arguments.model or table.model)) for table in tables],
        runs_dir=arguments.results,
        jobs=arguments.jobs,
        cache=default_cache(),
        tasks=tuple(arguments.task),
        finished=tuple(arguments.finished),
    )
    if not arguments.dry_run:
        train_for(training)
        return
    runs = plan_runs(training)
    missing = missing_runs(runs, training)
    print(*(run.name for run in missing), f"{len(missing)} of {len(runs)} runs are not finished", sep="\n")
    check_data(missing)


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="runs of tasks, and results of the tables")
    _add_seeds(parser)
    _add_output(parser, "results.md and its figures")


def _page(arguments: argparse.Namespace) -> None:
    """Write the page of results."""
    for path in write_results(_existing(arguments.paths), arguments.output, seeds=arguments.seeds):
        print(path)


def _add_setup(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    data = "folder of the data, see CONTRIBUTING.md (default: %(default)s)"
    add("--data", type=Path, default=Path(".data"), metavar="DIR", help=data)
    add("--scale", default="cpu", choices=("cpu", "paper"), help="size of the runs (default: cpu)")
    _add_seeds(parser)


def _add_seeds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds (default: that of the scale)")


def _setup(arguments: argparse.Namespace, model: str) -> Setup:
    return make_setup(arguments.data, scale=arguments.scale, model=model, seeds=arguments.seeds)


def _add_output(parser: argparse.ArgumentParser, files: str) -> None:
    about = f"output folder: {files} (default: %(default)s)"
    parser.add_argument("-o", "--output", type=Path, default=Path("runs") / "pages", metavar="FOLDER", help=about)


TABLES = "tables"
VERBS = (
    (TABLES, _add_tables, _tables),
    ("train", _add_train, _train),
    ("page", _add_page, _page),
    *COMPARATOR_VERBS,
)

if __name__ == "__main__":
    sys.exit(main())
