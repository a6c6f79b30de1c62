"""Commands of tasks: train, evaluate and predict."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.cli.options import Parser, check_new_run, check_option, given, open_output, text_output

if TYPE_CHECKING:
    from elmokit.tasks.config import Splits


def add_train(parser: Parser) -> None:
    from elmokit.tasks.task import named_tasks

    add = parser.add_argument
    add("task", nargs="?", metavar="TASK", help=f"{named_tasks()}; short names are in brackets")
    data = parser.add_mutually_exclusive_group()
    data.add_argument("--data", metavar="DIR", type=Path, help="data set folder with the original file names")
    train = "training file, in place of --data; can be repeated"
    data.add_argument("--train", metavar="FILE", type=Path, action="append", help=train)
    dev = "development file, with --train; can be repeated (default: a tenth of the training data is held out)"
    add("--dev", metavar="FILE", type=Path, action="append", help=dev)
    test_file = "test file to score at the end, with --train; can be repeated"
    add("--test-file", metavar="FILE", type=Path, action="append", help=test_file)
    test = "score the test files at the end, or now if the run to be resumed has ended (default: leave it to evaluate)"
    parser.add_flag("--test", test)
    add("--run", metavar="DIR", type=Path, help="output folder of the run (must not contain a run)")
    recipes = "cpu (minutes, default), cpu-converged (until the score stops improving), paper (the published sizes)"
    more = "cpu-ko (Korean; ner and sst), cpu-cnn (sst), cpu-output (nli and sst)"
    add("--recipe", metavar="NAME", help=f"{recipes}, {more}")
    elmo = "where ELMo's vectors go: input, output (of the first encoder), both or none (default: as in the recipe)"
    add("--elmo", metavar="POSITION", help=elmo)
    model = "biLM: name of a bundled model or a model folder; or a file of another system's vectors"
    add("--model", metavar="M", help=model)
    words = "word vectors of GloVe, word2vec or fastText (default: as in the recipe)"
    add("--word-vectors", metavar="FILE", help=words)
    add("--seed", metavar="N", type=int, help="seed for weights, order and dropout (default: 0)")
    parser.add_set("recipe")
    resume = "continue the run in this folder; --set may change max_epochs, patience and min_steps"
    moved = "if its files or its biLM have moved, give the new place with --data, --train or --model"
    add("--resume", metavar="DIR", type=Path, help=f"{resume}; {moved}")
    caches = parser.add_mutually_exclusive_group()
    cache = "folder for cached activations of frozen biLMs (default: ~/.cache/elmokit)"
    caches.add_argument("--cache", metavar="DIR", type=Path, help=cache)
    caches.add_argument("--no-cache", action="store_true", help="compute the activations again and do not keep them")
    parser.add_device()
    parser.set_defaults(when_interrupted="; elmokit train --resume DIR continues a run that has begun")


def run_train(arguments: argparse.Namespace) -> None:
    settings = ("TASK", "--run", "--recipe", "--elmo", "--word-vectors", "--seed")
    check_option(arguments, "--resume", without=settings)
    needed = {
        "TASK": arguments.task,
        "--data DIR or --train FILE": arguments.data or arguments.train,
        "--run DIR": arguments.run,
    }
    check_new_run(arguments, needed)
    check_option(arguments, "--dev", needs="--train")
    check_option(arguments, "--test-file", needs="--train")

    from elmokit.system.paths import default_cache
    from elmokit.tasks.run import read_record
    from elmokit.tasks.task import task_recipe

    config = None if arguments.resume else task_recipe(arguments.task, arguments.recipe or "cpu", _settings(arguments))
    splits = _splits(arguments, read_record(arguments.resume).task if arguments.resume else arguments.task)

    from elmokit.tasks.train import resume_task, train

    cache = None if arguments.no_cache else arguments.cache or default_cache()
    test = arguments.test or arguments.test_file is not None
    how: dict[str, Any] = {"test": test, "cache": cache, **given(arguments, "device")}
    if config is None:
        run_dir = resume_task(arguments.resume, arguments.set, data=splits, elmo_model=arguments.model, **how)
    else:
        assert splits is not None  # because --data or --train was given
        run_dir = train(arguments.task, splits, config=config, run_dir=arguments.run, **how)
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
    """The files of the data, if they are given. Missing files are refused here, before torch is imported."""
    from elmokit.files.lines import check_inputs
    from elmokit.formats.find import resolve_model
    from elmokit.tasks.config import Splits
    from elmokit.tasks.task import find_task

    if arguments.model:
        resolve_model(arguments.model)
    if arguments.word_vectors:
        check_inputs(arguments.word_vectors)
    if arguments.data:
        return find_task(task).find(arguments.data)
    if not arguments.train:
        return None
    splits = Splits(tuple(arguments.train), tuple(arguments.dev or ()), tuple(arguments.test_file or ()))
    for path in splits.paths:
        _check_data(path)
    return splits


def _check_data(path: Path) -> None:
    """Refuse a file that cannot be opened. Accept a part of a file, which a task can read (`train-v1.1.json#4:`)."""
    from elmokit.files.lines import check_inputs

    if "#" not in path.name and not path.is_dir():
        check_inputs(path)


def add_evaluate(parser: Parser) -> None:
    parser.add_argument("run", metavar="RUN", type=Path, help="folder of a run of elmokit train")
    data = "file in the format of the task, or a folder: its development and test files are both scored"
    parser.add_argument("data", metavar="DATA", type=Path, help=data)
    _add_trained(parser)


def run_evaluate(arguments: argparse.Namespace) -> None:
    import json

    from elmokit.tasks.config import Splits
    from elmokit.tasks.run import read_record

    read_record(arguments.run)
    _check_data(arguments.data)

    from elmokit.tasks.predict import load_task

    trained = load_task(arguments.run, elmo_model=arguments.model, device=arguments.device)
    splits = trained.task.find(arguments.data) if arguments.data.is_dir() else Splits((), arguments.data)
    if not (splits.dev or splits.test):
        raise ValueError(f"{arguments.data} has neither a development nor a test file to score; give a file")
    for path in (*splits.dev, *splits.test):
        scores = {name: round(number, 2) for name, number in trained.evaluate(path).items()}
        print(json.dumps({"file": str(path), **scores}, ensure_ascii=False))


def add_predict(parser: Parser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="folder of a run of elmokit train")
    add("input", metavar="INPUT", help="input file: plain, .gz or .xz; - for stdin")
    add("-o", "--output", metavar="OUT", type=text_output, help="output file (default: standard output)")
    form = "the usual format of the task, JSON, or (qa) the file that SQuAD's script scores (default: %(default)s)"
    add("--format", choices=("text", "json", "squad"), default="text", help=form)
    text = "raw text, one example per line; JSON, one object per line; or the format of the task"
    default = "default: *.txt and - are text, *.jsonl is JSON, anything else is the format of the task"
    add("--input-kind", choices=("text", "json", "data"), help=f"{text} ({default})")
    _add_trained(parser)


def run_predict(arguments: argparse.Namespace) -> None:
    from elmokit.files.atomic import check_is_not_input
    from elmokit.tasks.run import read_record

    read_record(arguments.run)
    _check_data(Path(arguments.input))
    check_is_not_input(arguments.output, arguments.input, arguments.input.rpartition("#")[0])  # or part of a file

    with open_output(arguments.output, sys.stdout) as file:
        from elmokit.tasks.predict import load_task

        trained = load_task(arguments.run, elmo_model=arguments.model, device=arguments.device)
        for prediction in trained.predict_file(arguments.input, kind=arguments.input_kind, form=arguments.format):
            print(prediction, file=file)
    if arguments.output:
        print(arguments.output)


def _add_trained(parser: Parser) -> None:
    moved = "new location of the biLM, if it has moved (it must be the same model)"
    parser.add_argument("--model", metavar="M", help=moved)
    parser.add_device()
