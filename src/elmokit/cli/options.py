"""Shared code of the commands: the parser, options, their checks, and output files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar

from elmokit.system.messages import did_you_mean, printable

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo

T = TypeVar("T")
MAX_SHOWN = 2000  # characters of a message
MODEL = "name of a bundled model, a model folder, or an options.json"
_OTHER_ENDINGS = (".csv", ".gz", ".xz", ".bz2", ".zip", ".xlsx")


class Parser(argparse.ArgumentParser):
    """Escapes control characters of arguments in messages, and suggests the nearest command or choice."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message, limit=MAX_SHOWN))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            hint = did_you_mean(str(value), choices)
            raise argparse.ArgumentError(action, f"unknown value {value!r}; {hint}expected one of {', '.join(choices)}")

    def add_model(self, *, has_default: bool = False) -> None:
        """Add `MODEL`, or `--model` if there is a default, with `--weights` and `--device`."""
        if has_default:
            self.add_argument("--model", metavar="M", help=f"{MODEL} (default: small-en)")
        else:
            self.add_argument("model", metavar="MODEL", help=MODEL)
        self.add_weights()
        self.add_device()

    def add_weights(self) -> None:
        self.add_argument("--weights", metavar="FILE", help="HDF5 weights that belong to an options.json")

    def add_device(self) -> None:
        self.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")

    def add_text(self) -> None:
        """Add the options for reading text: `--tokenize`, `--column` and `--as-text`."""
        self.add_argument("--tokenize", action="store_true", help="split the lines into tokens first")
        self.add_column()

    def add_column(self) -> None:
        text = (
            "read a column instead of lines: a field of JSON lines, a column of a TSV or CSV file, or form of CoNLL-U"
        )
        self.add_argument("--column", metavar="NAME", help=text)
        self.add_as_text()

    def add_as_text(self) -> None:
        text = "read the input as text even if it looks like something else, such as a table (default: refuse it)"
        self.add_argument("--as-text", action="store_true", help=text)

    def add_set(self, of: str) -> None:
        text = f"override settings of the {of}"
        self.add_argument("--set", metavar="FIELD=VALUE", nargs="+", action="extend", default=[], help=text)

    def add_flag(self, name: str, text: str) -> None:
        self.add_argument(name, action="store_true", help=text)


def text_output(name: str) -> Path:
    """The type of an option for an output file in plain text: a table with tabs, JSON, or lines."""
    path = Path(name)
    if path.suffix.lower() in _OTHER_ENDINGS:
        raise argparse.ArgumentTypeError(f"{name} would be plain text, in spite of its ending {path.suffix}; rename it")
    return path


def given(arguments: argparse.Namespace, *names: str, **renamed: str) -> dict[str, Any]:
    """The arguments that the user gave. The library has defaults for the others.

    renamed: the library's name of an argument, and the command's name for it.
    """
    own = {name: name for name in names} | renamed
    values = {name: getattr(arguments, argument) for name, argument in own.items()}
    return {name: value for name, value in values.items() if _is_given(value)}


def check_option(
    arguments: argparse.Namespace, option: str, *, without: Sequence[str] = (), needs: str | None = None
) -> None:
    """Raise ValueError if the option was given with one that it would ignore, or without one that it needs."""

    def is_given(name: str) -> bool:
        return _is_given(getattr(arguments, name.lstrip("-").replace("-", "_").lower()))

    if not is_given(option):
        return
    if extra := [name for name in without if is_given(name)]:
        raise ValueError(f"{', '.join(extra)} cannot be combined with {option}")
    if needs and not is_given(needs):
        raise ValueError(f"{option} needs {needs}")


def check_new_run(arguments: argparse.Namespace, needed: dict[str, object]) -> None:
    """Raise ValueError if neither `--resume` nor all that a new run needs was given."""
    missing = [name for name, value in needed.items() if not value]
    if missing and not arguments.resume:
        raise ValueError(f"a new run also needs {', '.join(missing)} (to continue an old one: --resume DIR)")


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != []


def check_model(arguments: argparse.Namespace, *inputs: str | os.PathLike[str] | None, output: Path | None) -> None:
    """Refuse a missing model, and an output that would replace it or an input. This does not import torch."""
    from elmokit.files.atomic import check_is_not_input
    from elmokit.formats.find import resolve_model

    check_is_not_input(output, *inputs, arguments.model, arguments.weights)
    if arguments.model is not None:
        resolve_model(arguments.model)


def open_elmo(arguments: argparse.Namespace, **options: Any) -> Elmo:
    """Open the model that the arguments of `add_model` name."""
    from elmokit.elmo.elmo import Elmo
    from elmokit.formats.find import DEFAULT_MODEL

    model = DEFAULT_MODEL if arguments.model is None else arguments.model
    return Elmo.from_pretrained(model, arguments.weights, device=arguments.device, **options)


@contextmanager
def open_output(path: Path | None, otherwise: T) -> Generator[IO[str] | T]:
    """Open the output file, which appears complete or not at all. Without a path, yield `otherwise`."""
    from elmokit.files.atomic import atomic_write

    if path is None:
        yield otherwise
        return
    with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield file
