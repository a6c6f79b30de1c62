"""Verbs of the six tasks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.cli.verb import Parser, add_device, check_apart, check_needed, given, open_output, text_output

if TYPE_CHECKING:
    from elmokit.tasks.config import Splits


def _add_train(parser: Parser) -> None:
    from elmokit.tasks.all_tasks import named_tasks

    parser.add_argument("task", nargs="?", metavar="TASK", help=f"{named_tasks()}; short names are in brackets")
    _add_data(parser)
    parser.option("--run DIR", "output folder of the run (must not contain a run)", type=Path, dest="run_dir")
    parser.option(
        "--recipe NAME",
        "cpu (minutes), cpu-converged (until the score stops improving), paper (the published sizes), cpu-ko "
        "(Korean; ner and sst), cpu-cnn (sst), cpu-output (nli and sst) (default: cpu)",
    )
    parser.option(
        "--elmo POSITION",
        "where ELMo's vectors go: input, output (of the first encoder), both or none (default: as in the recipe)",
    )
    parser.option("--model M", "biLM: name of a bundled model or a model folder; or a file of another system's vectors")
    parser.option("--word-vectors FILE", "word vectors of GloVe, word2vec or fastText (default: as in the recipe)")
    parser.option("--seed N", "seed for weights, order and dropout (default: 0)", type=int)
    parser.option("--set FIELD=VALUE", "override settings of the recipe", nargs="+", action="extend", default=[])
    parser.option(
        "--resume DIR",
        "continue the run in this folder (--set may change max_epochs, patience and min_steps; --data, --train "
        "and --model say where its files and its biLM are now, if they have moved)",
        type=Path,
    )
    parser.option("--cache DIR", "folder for cached activations of frozen biLMs (default: ~/.cache/elmokit)", type=Path)
    parser.option("--no-cache", "compute the activations again and do not keep them")
    add_device(parser)
    parser.set_defaults(when_interrupted="; elmokit train --resume DIR continues a run that has begun")


def _add_data(parser: Parser) -> None:
    parser.option("--data DIR", "data set folder with the original file names", type=Path)
    parser.option("--train FILE", "training file, in place of --data; can be repeated", type=Path, action="append")
    parser.option(
        "--dev FILE",
        "development file, with --train; can be repeated (default: a tenth of the training files is set apart)",
        type=Path,
        action="append",
    )
    parser.option(
        "--test-file FILE",
        "test file, with --train, which is scored at the end; can be repeated",
        type=Path,
        action="append",
    )
    parser.option(
        "--test",
        "score the test files at the end, or now if the run to be resumed has ended (default: evaluate does it)",
    )


def _train(arguments: argparse.Namespace) -> None:
    """Train a task model on a data set, with or without ELMo, or continue a run."""
    settings = ("TASK", "--run", "--recipe", "--elmo", "--word-vectors", "--seed")
    check_apart(arguments, "--resume", *settings, why=", which uses the settings of the run")
    needed = {"TASK": arguments.task, "--data DIR": arguments.data or arguments.train, "--run DIR": arguments.run_dir}
    missing = [name for name, value in needed.items() if value is None]
    if missing and not arguments.resume:
        raise ValueError(f"a new run also needs {', '.join(missing)} (to continue an old one: --resume DIR)")
    check_apart(arguments, "--no-cache", "--cache")
    check_apart(arguments, "--data", "--train", "--dev", why=", which finds its files by their names")
    check_needed(arguments, "--dev", "--train")
    check_needed(arguments, "--test-file", "--train")

    from elmokit.system.python import default_cache
    from elmokit.tasks.all_tasks import task_recipe
    from elmokit.tasks.run_folder import read_record

    config = None if arguments.resume else task_recipe(arguments.task, arguments.recipe or "cpu", _settings(arguments))
    splits = _splits(arguments, read_record(arguments.resume).task if arguments.resume else arguments.task)

    from elmokit.tasks.train import resume_task, train

    cache = None if arguments.no_cache else arguments.cache or default_cache()
    test = arguments.test or arguments.test_file is not None
    how: dict[str, Any] = {"test": test, "cache": cache, **given(arguments, "device")}
    if config is None:
        run_dir = resume_task(arguments.resume, arguments.set, data=splits, elmo_model=arguments.model, **how)
    else:
        assert splits is not None  # as --data or --train was given
        run_dir = train(arguments.task, splits, config=config, **how, **given(arguments, "run_dir"))
    print(run_dir)


def _settings(arguments: argparse.Namespace) -> list[str]:
    own = {
        "inputs.elmo": arguments.elmo,
        "inputs.elmo.model": arguments.model,
        "inputs.word_vectors": arguments.word_vectors,
        "training.seed": arguments.seed,
    }
    return [f"{name}={value}" for name, value in own.items() if value is not None] + arguments.set


def _splits(arguments: argparse.Namespace, task: str) -> Splits | None:
    """The files of the data, if they are given. What is not there is refused now, before torch is imported."""
    from elmokit.files.lines import check_inputs
    from elmokit.formats.names import resolve_model
    from elmokit.tasks.all_tasks import find_task
    from elmokit.tasks.config import Splits

    if arguments.model:
        resolve_model(arguments.model)
    if arguments.word_vectors:
        check_inputs(arguments.word_vectors)
    if arguments.data:
        return find_task(task).find(arguments.data)
    if not arguments.train:
        return None
    splits = Splits(tuple(arguments.train), tuple(arguments.dev or ()), tuple(arguments.test_file or ()))
    for path in (*splits.train, *splits.dev, *splits.test):
        _check_data(path)
    return splits


def _check_data(path: Path) -> None:
    """Refuse a file that cannot be opened, but not the part of one that a task can read (`train-v1.1.json#4:`)."""
    from elmokit.files.lines import check_inputs

    if "#" not in path.name and not path.is_dir():
        check_inputs(path)


def _add_evaluate(parser: Parser) -> None:
    parser.add_argument("run_dir", type=Path, metavar="RUN", help="folder of a run of elmokit train")
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="file in the format of the task, or a folder, whose development and test files are both scored",
    )
    _add_trained(parser)


def _evaluate(arguments: argparse.Namespace) -> None:
    """Score a trained task model on labelled data, with the same numbers as the official scorer."""
    import json

    from elmokit.tasks.config import Splits
    from elmokit.tasks.run_folder import read_record

    read_record(arguments.run_dir)
    _check_data(arguments.data)

    from elmokit.tasks.saved import load_task

    trained = load_task(arguments.run_dir, elmo_model=arguments.model, device=arguments.device)
    splits = trained.task.find(arguments.data) if arguments.data.is_dir() else Splits((), arguments.data)
    if not (splits.dev or splits.test):
        raise ValueError(f"{arguments.data} has neither a development nor a test file to score; give a file")
    for path in (*splits.dev, *splits.test):
        scores = {name: round(number, 2) for name, number in trained.evaluate(path).items()}
        print(json.dumps({"file": str(path), **scores}, ensure_ascii=False))


def _add_predict(parser: Parser) -> None:
    parser.add_argument("run_dir", type=Path, metavar="RUN", help="folder of a run of elmokit train")
    parser.add_argument("input", metavar="INPUT", help="input file: plain, .gz or .xz; - for stdin")
    parser.option("-o, --output OUT", "output file (default: standard output)", type=text_output)
    parser.option(
        "--format", "the usual format of the task, or JSON (default: text)", choices=("text", "json"), default="text"
    )
    parser.option(
        "--input-kind",
        "raw text, one example per line; JSON, one object per line; or the format of the task (default: *.txt and - "
        "are text, *.jsonl is JSON, anything else is the format of the task)",
        choices=("text", "json", "data"),
    )
    _add_trained(parser)


def _predict(arguments: argparse.Namespace) -> None:
    """Run a trained task model on a file."""
    from elmokit.files.atomic import check_is_not_input
    from elmokit.tasks.run_folder import read_record

    read_record(arguments.run_dir)
    _check_data(Path(arguments.input))
    check_is_not_input(arguments.output, arguments.input, arguments.input.rpartition("#")[0])  # or part of a file

    with open_output(arguments.output, sys.stdout) as file:
        from elmokit.tasks.saved import load_task

        trained = load_task(arguments.run_dir, elmo_model=arguments.model, device=arguments.device)
        for prediction in trained.predict_file(arguments.input, kind=arguments.input_kind, form=arguments.format):
            print(prediction, file=file)


def _add_trained(parser: Parser) -> None:
    parser.option("--model M", "new location of the biLM, if it has moved (it must be the same model)")
    add_device(parser)


VERBS = (("train", _add_train, _train), ("evaluate", _add_evaluate, _evaluate), ("predict", _add_predict, _predict))
