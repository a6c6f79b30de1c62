"""`python -m paper table1`: the tables of the paper, made from runs that are trained here or given; docs/paper.md."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.cli.main import main as run_verb
from paper.comparators.commands import VERBS as COMPARATOR_VERBS

if TYPE_CHECKING:
    import argparse

    from elmokit.cli.verb import Verb
    from paper.train import Training


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb, or make tables if the first argument is the name of one; returns the exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    names = [name for name, _, _ in VERBS]
    if given and not given[0].startswith("-") and given[0] not in names:
        given.insert(0, TABLES)
    return run_verb(given, program="python -m paper", verbs=VERBS)


def _add_page(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="runs of tasks, and results of the tables")
    _add_output(parser, "results.md and its figures")


def _page(arguments: argparse.Namespace) -> None:
    """Write the page of results, docs/results.md."""
    from paper.page import write_results

    for path in write_results(arguments.paths, arguments.output):
        print(path)


def _add_tables(parser: argparse.ArgumentParser) -> None:
    from paper.all_reproductions import REPRODUCTIONS

    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help=f"tables and figures: {', '.join(REPRODUCTIONS)}, or all of them. Paths of runs, or of a "
        "results.jsonl, after the names: the tables are made from these, and nothing is computed",
    )
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="M",
        help="what is measured: a model, random:M for one of its size with random weights, a file of vectors, or "
        "SYSTEM:M as in `embed --with`, such as static:FILE; can be repeated (default: what the table compares)",
    )
    parser.add_argument("--word-vectors", type=Path, metavar="FILE", help="word vectors of a SYSTEM that reads some")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(".data"),
        metavar="DIR",
        help="folder of the data, see CONTRIBUTING.md (default: %(default)s)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="folder of what is trained and computed; what is there is kept (default: runs/TABLE, or runs/reproduce "
        "for tables that need runs of tasks, which share them)",
    )
    _add_training(parser)
    _add_output(parser, "TABLE.md")
    parser.set_defaults(when_interrupted="; the same command continues")


def _add_training(parser: argparse.ArgumentParser) -> None:
    """Options of tables that are made of training runs."""
    parser.add_argument(
        "--task",
        action="append",
        default=[],
        metavar="TASK",
        help="train for this task only, such as semantic-roles; can be repeated (default: all that the tables need)",
    )
    parser.add_argument(
        "--finished",
        type=Path,
        action="append",
        default=[],
        metavar="RUNS",
        help="runs that were trained elsewhere, a folder or a runs.jsonl: planned runs that it has are not trained "
        "again; can be repeated",
    )
    parser.add_argument(
        "--scale", default="cpu", choices=("cpu", "paper"), help="size of the training runs (default: cpu)"
    )
    parser.add_argument("--seeds", type=int, metavar="N", help="number of seeds (default: that of the scale)")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="training runs at a time (default: 1)")
    parser.add_argument(
        "--dry-run", action="store_true", help="list the training runs with an estimate of their time, and stop"
    )


def _tables(arguments: argparse.Namespace) -> None:
    """Write tables and figures of a paper with our numbers next to the printed ones; train and compute if needed."""
    from elmokit.report.pages import check_folder
    from paper.all_reproductions import find_reproduction
    from paper.page import write_reproduction
    from paper.reproduction import Request, paths_of
    from paper.train import train_for

    names, paths = _names_and_paths(arguments.names)
    of_runs = [name for name in names if find_reproduction(name).plan is not None]
    training = _training(arguments, names=of_runs)
    if arguments.dry_run:
        if paths:
            raise ValueError(f"{paths[0]}: --dry-run lists what would be trained, which takes names of tables alone")
        _print_plan(of_runs, training)
        return
    check_folder(arguments.output)  # before days of training
    trained = train_for(of_runs, training) if of_runs and not paths else []
    for name in names:
        results_dir = _results_dir(name, arguments.results, alone=len(names) == 1)
        request = Request(arguments.data, results_dir, tuple(arguments.model), arguments.word_vectors)
        found = paths_of(find_reproduction(name), paths or (trained if name in of_runs else []), request)
        command = shlex.join(["python", "-m", "paper", name, *map(str, found), "-o", str(arguments.output)])
        print(write_reproduction(name, found, arguments.output, setup=training.setup(name), command=command))


def _names_and_paths(given: Sequence[str]) -> tuple[list[str], list[Path]]:
    """Names of tables, of which there is at least one, come first; the rest are paths."""
    from paper.all_reproductions import REPRODUCTIONS, find_reproduction

    if given[0] == "all":
        return list(REPRODUCTIONS), [Path(path) for path in given[1:]]
    names = [find_reproduction(given[0]).name]
    while len(names) < len(given) and given[len(names)] in REPRODUCTIONS:
        names.append(given[len(names)])
    return names, [Path(path) for path in given[len(names) :]]


def _results_dir(name: str, given: Path | None, *, alone: bool) -> Path:
    if given is None:
        return Path("runs") / name
    return given if alone else given / name


def _print_plan(names: Sequence[str], training: Training) -> None:
    from paper.train import missing_runs, plan_runs

    runs = plan_runs(names, training)
    missing = missing_runs(runs, training)
    for run in missing:
        print(f"{run.seconds / 60:7.1f} min  {run.name}")
    hours = sum(run.seconds for run in missing) / 3600
    print(f"{len(missing)} of {len(runs)} runs are not finished: about {hours:.1f} hours of a core of an EPYC")


def _training(arguments: argparse.Namespace, *, names: Sequence[str]) -> Training:
    """How the runs of the tables with these names are trained."""
    from elmokit.system.python import default_cache
    from paper.train import Training

    if names and len(arguments.model) > 1:
        raise ValueError(f"{len(arguments.model)} models; tables that are made of training runs take one --model")
    return Training(
        data_dir=arguments.data,
        runs_dir=arguments.results or Path("runs") / "reproduce",
        scale=arguments.scale,
        model=arguments.model[0] if names and arguments.model else None,
        seeds=arguments.seeds,
        jobs=arguments.jobs,
        cache=default_cache(),
        tasks=tuple(arguments.task),
        finished=tuple(arguments.finished),
    )


def _add_output(parser: argparse.ArgumentParser, files: str) -> None:
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("docs"),
        metavar="FOLDER",
        help=f"output folder: {files} (default: %(default)s)",
    )


TABLES = "tables"
VERBS: Sequence[Verb] = (
    (TABLES, _add_tables, _tables),
    ("page", _add_page, _page),
    *COMPARATOR_VERBS,
)

if __name__ == "__main__":
    sys.exit(main())
