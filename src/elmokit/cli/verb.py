"""What a verb is to the command line, and what several verbs have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from elmokit.system.messages import did_you_mean, printable

T = TypeVar("T")


class Parser(argparse.ArgumentParser):
    """Shows control characters in what was given as escapes, and suggests the verb or choice that was meant."""

    def option(self, usage: str, help: str, **settings: Any) -> None:
        """Add an option, written as in its help: `-o, --output FILE`, `--top N`; a switch, if it has no settings."""
        words = usage.replace(",", "").split()
        if not words[-1].startswith("-"):
            settings["metavar"] = words.pop()
        elif not settings:
            settings["action"] = "store_true"
        self.add_argument(*words, help=help, **settings)

    def error(self, message: str) -> NoReturn:
        super().error(printable(message, most=MAX_SHOWN))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            hint = did_you_mean(str(value), choices)
            raise argparse.ArgumentError(action, f"no {value!r}; {hint}expected one of {', '.join(choices)}")


Verb = tuple[str, Callable[[Parser], None], Callable[[argparse.Namespace], "int | None"]]
"""Its name, what adds its arguments, and what runs it: the docstring is its help, the result the exit code (None: 0).

The functions import the library when they run. What is said after `interrupted` is the parser's `when_interrupted`.
"""
MAX_SHOWN = 2000  # characters of a message
_PLACES = {"--with": "system", "--run": "run_dir"}  # of options that have other names there
_OTHER_ENDINGS = (".csv", ".gz", ".xz", ".bz2", ".zip", ".xlsx")
MODEL = "name of a bundled model, a model folder, or an options.json"


def add_model(parser: Parser, *, has_default: bool = False) -> None:
    """Add `MODEL`, or `--model` if there is a default, and what goes with it: weights and device."""
    if has_default:
        parser.option("--model M", f"{MODEL} (default: small-en)")
    else:
        parser.add_argument("model", metavar="MODEL", help=MODEL)
    add_weights(parser)
    add_device(parser)


def add_weights(parser: Parser) -> None:
    parser.option("--weights FILE", "HDF5 weights that belong to an options.json")


def add_device(parser: Parser) -> None:
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")


def add_run(parser: Parser, *, required: bool = False) -> None:
    what = "output folder of the run (must not contain a run)"
    # torchrun takes --run for its own --run-path
    parser.option("--run, --run-dir DIR", what, type=Path, dest="run_dir", required=required)


def add_text(parser: Parser) -> None:
    """Add how text is read: `--tokenize` and `--column`."""
    parser.option("--tokenize", "split the lines into tokens first")
    add_column(parser)


def add_column(parser: Parser) -> None:
    parser.option(
        "--column NAME",
        "read a column, not lines: a field of JSON lines, a column of a TSV or CSV file, or form of CoNLL-U",
    )


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The arguments that were given, of those whose defaults are the library's."""
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def check_apart(arguments: argparse.Namespace, option: str, *others: str, why: str = "") -> None:
    """Raise ValueError if the option was given together with others; `why` is said after its name."""
    found = [other for other in others if _is_given(arguments, other)]
    if found and _is_given(arguments, option):
        raise ValueError(f"{', '.join(found)} cannot be combined with {option}{why}")


def check_needed(arguments: argparse.Namespace, option: str, other: str) -> None:
    """Raise ValueError if the option was given without the other one."""
    if _is_given(arguments, option) and not _is_given(arguments, other):
        raise ValueError(f"{option} needs {other}")


def _is_given(arguments: argparse.Namespace, option: str) -> bool:
    value = getattr(arguments, _PLACES.get(option) or option.lower().lstrip("-").replace("-", "_"))
    return not (value is None or value is False or value == [])


def text_output(name: str) -> Path:
    """The type of an option for a file that is written as plain text: tables in tabs, JSON, lines."""
    path = Path(name)
    if path.suffix.lower() in _OTHER_ENDINGS:
        raise argparse.ArgumentTypeError(f"{name} would be plain text, not what {path.suffix} promises; rename it")
    return path


@contextmanager
def open_output(path: Path | None, otherwise: T) -> Generator[IO[str] | T]:
    """The file, which will be complete or not there at all; without a path, `otherwise`."""
    from elmokit.files.atomic import atomic_write

    if path is None:
        yield otherwise
        return
    with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield file
