"""What several commands have in common: the parser, options, and files that are written."""

from __future__ import annotations

import argparse
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar

from elmokit.system.messages import did_you_mean, printable

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.encoding import Layers

T = TypeVar("T")
MAX_SHOWN = 2000  # characters of a message
MODEL = "name of a bundled model, a model folder, or an options.json"
_OTHER_ENDINGS = (".csv", ".gz", ".xz", ".bz2", ".zip", ".xlsx")


class Parser(argparse.ArgumentParser):
    """Escapes control characters of arguments in messages, and suggests the nearest command or choice."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message, most=MAX_SHOWN))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            hint = did_you_mean(str(value), choices)
            raise argparse.ArgumentError(action, f"no {value!r}; {hint}expected one of {', '.join(choices)}")


def add_model(parser: Parser, *, has_default: bool = False) -> None:
    """Add `MODEL`, or `--model` if there is a default, with `--weights` and `--device`."""
    if has_default:
        parser.add_argument("--model", metavar="M", help=f"{MODEL} (default: small-en)")
    else:
        parser.add_argument("model", metavar="MODEL", help=MODEL)
    add_weights(parser)
    add_device(parser)


def add_weights(parser: Parser) -> None:
    parser.add_argument("--weights", metavar="FILE", help="HDF5 weights that belong to an options.json")


def add_device(parser: Parser) -> None:
    parser.add_argument("--device", help="cpu, cuda, cuda:1, ... (default: the GPU if there is one)")


def add_text(parser: Parser) -> None:
    """Add how text is read: `--tokenize`, `--column` and `--as-text`."""
    parser.add_argument("--tokenize", action="store_true", help="split the lines into tokens first")
    add_column(parser)


def add_column(parser: Parser) -> None:
    text = "read a column instead of lines: a field of JSON lines, a column of a TSV or CSV file, or form of CoNLL-U"
    parser.add_argument("--column", metavar="NAME", help=text)
    add_as_text(parser)


def add_as_text(parser: Parser) -> None:
    text = "read as text what looks like something else, such as a table (default: refuse it)"
    parser.add_argument("--as-text", action="store_true", help=text)


def add_set(parser: Parser, of: str) -> None:
    text = f"override settings of the {of}"
    parser.add_argument("--set", metavar="FIELD=VALUE", nargs="+", action="extend", default=[], help=text)


def layer_choice(text: str) -> Layers:
    """The value of `--layers`. Elmo.encode refuses other names and numbers."""
    from elmokit.text.corpora.cells import numbers_between_commas, whole_number

    weights, number = numbers_between_commas(text), whole_number(text)
    if weights is not None:
        return weights
    return text if number is None else number  # type: ignore[return-value]


def text_output(name: str) -> Path:
    """The type of an option for a file that is written as plain text: tables in tabs, JSON, lines."""
    path = Path(name)
    if path.suffix.lower() in _OTHER_ENDINGS:
        raise argparse.ArgumentTypeError(f"{name} would be plain text, not what {path.suffix} promises; rename it")
    return path


def given(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """The arguments that were given; for the others the library has the defaults."""
    return {name: value for name in names if (value := getattr(arguments, name)) is not None}


def check_option(
    arguments: argparse.Namespace, option: str, *, without: Sequence[str] = (), needs: str | None = None
) -> None:
    """Raise ValueError if the option was given with one that it would ignore, or without one that it needs."""

    def is_given(name: str) -> bool:
        return getattr(arguments, name.lstrip("-").replace("-", "_").lower()) not in (None, False, [])

    if not is_given(option):
        return
    if extra := [name for name in without if is_given(name)]:
        raise ValueError(f"{', '.join(extra)} cannot be combined with {option}")
    if needs and not is_given(needs):
        raise ValueError(f"{option} needs {needs}")


def open_elmo(arguments: argparse.Namespace, **options: Any) -> Elmo:
    """The model of `add_model`; a missing one is refused before torch is imported, which takes seconds."""
    from elmokit.formats.find import DEFAULT_MODEL, resolve_model

    model = DEFAULT_MODEL if arguments.model is None else arguments.model
    resolve_model(model)

    from elmokit.elmo.elmo import Elmo

    return Elmo.from_pretrained(model, arguments.weights, device=arguments.device, **options)


@contextmanager
def open_output(path: Path | None, otherwise: T) -> Generator[IO[str] | T]:
    """The file, which appears complete or not at all; without a path, `otherwise`."""
    from elmokit.files.atomic import atomic_write

    if path is None:
        yield otherwise
        return
    with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        yield file
