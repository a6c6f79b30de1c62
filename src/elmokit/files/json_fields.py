"""JSON objects from untrusted files: small, finite, without repeated keys, and read by type."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from elmokit.files.lines import NOT_IN_A_TOKEN
from elmokit.system.messages import FormatError, did_you_mean, first_token, printable, readable_bytes, refuse_link_out

MAX_BYTES = 4 << 20
"""A config has a few hundred bytes; a run's config, with the names of thousands of shards, a few hundred thousand."""
_MAX_DIGITS = 40
"""Digits of a wrong number that an error shows."""
MAX_PAIRS = 64
"""Groups of filters in a config; the released models have 7."""
LARGEST_INTEGER = 1 << 53
"""Every JSON reader holds whole numbers up to this one exactly."""

_T = TypeVar("_T")
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
"""Half of a character beyond the first 65,536; without the other half, it cannot be written in UTF-8."""
_PAIR = re.compile(r"\[\n\s+(\d+),\n\s+(\d+)\n\s+\]")
"""A filter's [width, number], which reads better on one line. No JSON string contains a line break."""


def read_json_object(path: Path, *, max_bytes: int = MAX_BYTES, is_named: bool = False) -> dict[str, object]:
    """Read the object in a file. A byte order mark is allowed.

    is_named: the user has named this file, so it may be a link out of its folder. Others are refused, because errors
        quote what they hold.

    Raises FileNotFoundError if there is no such file, and FormatError, which names it, for anything other than one
    JSON object of at most `max_bytes`.
    """
    if not path.is_file():  # reading a pipe would block
        raise FileNotFoundError(f"{path}: there is no such file")
    if not is_named:
        refuse_link_out(path)
    if path.stat().st_size > max_bytes:
        raise FormatError(path, f"has more than {readable_bytes(max_bytes)}; a config is far smaller")
    return parse_json_object(path.read_bytes(), where=path)


def parse_json_object(content: str | bytes, *, where: str | Path, part: str | None = None) -> dict[str, object]:
    """Parse the object in a text, or in UTF-8 bytes; errors name `where` (a file, perhaps with a line) and `part`.

    Raises FormatError for anything else, for a repeated key, and for numbers that JSON does not have (NaN, infinity).
    """
    value = parse_json(content, where=where, part=part)
    if not isinstance(value, dict):
        raise FormatError(where, f"holds {_kind(value)}; expected an object {{...}}", part=part)
    return cast("dict[str, object]", value)


def parse_json(content: str | bytes, *, where: str | Path, part: str | None = None) -> object:
    """Parse a value of any kind; otherwise like `parse_json_object`."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
        value: object = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite_float, object_pairs_hook=_without_repeated_keys
        )
        if _HALF_CHARACTER.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = printable(error.object[error.start])
        reason = f"is not valid JSON: {half} is half of a character; the text was cut within it"
        raise FormatError(where, reason, part=part) from error
    except UnicodeDecodeError as error:
        raise FormatError(where, f"is not UTF-8 (byte {error.start})", part=part) from error
    except RecursionError as error:
        raise FormatError(where, "is nested too deeply", part=part) from error
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, character {error.colno}" if "\n" in error.doc else f"character {error.colno}"
        reason = f"is not valid JSON: {error.msg} at {at}, near {first_token(error.doc[error.pos :])}"
        raise FormatError(where, reason, part=part) from error
    except ValueError as error:  # a number of thousands of digits, or raised below
        raise FormatError(where, f"is not valid JSON: {error}", part=part) from error
    return value


def json_text(path: Path, values: Mapping[str, object]) -> str:
    """Format an object as the text of a file that `read_json_object` reads back.

    Raises FormatError, which names the file that the text is meant for, if it could not be read back.
    """
    try:
        text = _PAIR.sub(r"[\1, \2]", json.dumps(values, indent=2, allow_nan=False)) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(path, f"cannot be written as JSON: {error}") from error
    if len(text) > MAX_BYTES:
        raise FormatError(path, f"would have {readable_bytes(len(text))}; at most {readable_bytes(MAX_BYTES)} are read")
    return text


class Fields:
    """Typed reads of a parsed object. Every error is a FormatError that names the file and the field.

    `where` is the file, or the file with a line in it; `prefix` is the path to this object within the file.
    """

    def __init__(self, where: str | Path, values: Mapping[str, object], *, prefix: str = "") -> None:
        self.where = where
        self._values = values
        self._prefix = prefix
        self._unread = dict.fromkeys(values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def names(self) -> list[str]:
        return list(self._values)

    @property
    def unread(self) -> list[str]:
        """Paths of the fields that have not been read yet."""
        return [self._prefix + name for name in self._unread]

    def require_known(self, names: Collection[str]) -> None:
        """Raise FormatError if there is a field that is not among `names` and has not been read yet."""
        for name in self._unread:
            if name not in names:
                raise self.error(name, f"is not known; {did_you_mean(name, names)}expected {', '.join(names)}")

    def error(self, name: str, reason: str) -> FormatError:
        """The error about a field, for the caller to raise."""
        return FormatError(self.where, reason, part=f"field {self._prefix}{name}")

    def value(self, name: str) -> object:
        """The value of a field, of any type."""
        if name not in self._values:
            others = f"; there are {printable(', '.join(self._values))}" if self._values else ""
            raise self.error(name, f"is missing{others}")
        self._unread.pop(name, None)
        return self._values[name]

    def as_dataclass(
        self,
        kind: type[_T],
        *,
        complete: bool = False,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        **given: Any,
    ) -> _T:
        """A dataclass of the fields, each read by its type; `given` are values of those that the caller has read.

        complete: whether fields may only be missing if their default is None; otherwise those with any default may.
        bounds: the least and the largest value of numbers; the others are at least 0.

        Raises FormatError for a field that is unknown, missing or of another type, and what the dataclass refuses.
        """
        types, entries = types_of(kind), {entry.name: entry for entry in dataclasses.fields(cast("Any", kind))}
        self.require_known(entries)
        values = given
        for name, entry in entries.items():
            is_optional = entry.default is None if complete else _has_default(entry)
            if name not in given and (name in self or not is_optional):
                least, most = (bounds or {}).get(name, (0, math.inf))
                values[name] = self.read(name, types[name], complete=complete, least=least, most=most)
        with blaming(self.where, part=self._prefix.removesuffix(".") or None):
            return kind(**values)

    def read(self, name: str, kind: Any, *, complete: bool = False, least: float = 0, most: float = math.inf) -> Any:
        """The value of a field as a type that fields of dataclasses have; the other arguments as for `as_dataclass`."""
        return self._read(name, self.value(name), kind, complete, least, most)

    def _read(self, name: str, value: object, kind: Any, complete: bool, least: float, most: float) -> Any:
        arguments, origin = get_args(kind), get_origin(kind)
        if NoneType in arguments:
            inner = next(argument for argument in arguments if argument is not NoneType)
            return None if value is None else self._read(name, value, inner, complete, least, most)
        if kind is object:
            return value
        if origin in (tuple, list):
            items = cast("list[object]", self._checked(name, value, list, "a list"))
            if kind == tuple[tuple[int, int], ...]:  # groups of filters
                least = 1
                if not 1 <= len(items) <= MAX_PAIRS:
                    raise self.error(name, f"has {len(items)} entries; expected 1 to {MAX_PAIRS}")
            kinds = arguments if origin is tuple and arguments[-1] is not ... else arguments[:1] * len(items)
            if len(items) != len(kinds):
                raise self.error(name, f"has {len(items)} entries; expected {len(kinds)}")
            found: list[Any] = [
                self._read(f"{name}[{index}]", item, inner, complete, least, most)
                for index, (item, inner) in enumerate(zip(items, kinds, strict=True))
            ]
            return tuple(found) if origin is tuple else found
        if origin is not None:
            return cast("dict[str, object]", self._checked(name, value, dict, "an object"))
        if dataclasses.is_dataclass(kind):
            inside = cast("dict[str, object]", self._checked(name, value, dict, "an object"))
            record = cast("type[Any]", kind)
            return Fields(self.where, inside, prefix=f"{self._prefix}{name}.").as_dataclass(record, complete=complete)
        if kind in (int, float):
            return self._number(name, value, kind, least, most)
        return self._checked(name, value, kind, "true or false" if kind is bool else "text")

    def fields(self, name: str) -> Fields:
        return Fields(self.where, self.read(name, dict[str, object]), prefix=f"{self._prefix}{name}.")

    def list_of_fields(self, name: str) -> list[Fields]:
        """The fields of each object in a list."""
        objects = enumerate(self.read(name, list[dict[str, object]]))
        return [Fields(self.where, values, prefix=f"{self._prefix}{name}[{index}].") for index, values in objects]

    def text(self, name: str) -> str:
        return self.read(name, str)

    def tokens(self, name: str) -> list[str]:
        r"""A list of at least one token, which is text without spaces, tabs and the ends of lines (`\n` and `\r`)."""
        values: list[object] = self.read(name, list[object])
        tokens = [value for value in values if isinstance(value, str) and value and NOT_IN_A_TOKEN.isdisjoint(value)]
        if not tokens or len(tokens) < len(values):
            shown = first_token(str(values))
            raise self.error(name, f"is {shown}; expected a list of words without spaces and line ends")
        return tokens

    def integer(self, name: str, *, least: int = 0, most: int = LARGEST_INTEGER) -> int:
        """A whole number from `least` to `most`."""
        return self.read(name, int, least=least, most=most)

    def number(self, name: str, *, least: float = 0) -> float:
        """A finite number of at least `least`."""
        return self.read(name, float, least=least)

    def _checked(self, name: str, value: object, kind: type[_T], expected: str) -> _T:
        if not isinstance(value, kind):
            raise self.error(name, f"is {_kind(value)}; expected {expected}")
        return value

    def _number(self, name: str, value: object, kind: type[float], least: float, most: float) -> float:
        if isinstance(value, bool) or not isinstance(value, int | kind):
            raise self.error(name, f"is {_kind(value)}; expected a {'whole ' * (kind is int)}number")
        if not least <= value <= min(most, LARGEST_INTEGER if kind is int else sys.float_info.max):
            bounds = f"{least:g} to {most:g}" if math.isfinite(most) else f"at least {least:g}"
            if kind is int:
                bounds = f"{math.ceil(least)} to {math.floor(min(most, LARGEST_INTEGER))}"
            raise self.error(name, f"is {printable(str(value), most=_MAX_DIGITS)}; expected {bounds}")
        return kind(value)


@functools.cache
def types_of(kind: type[object]) -> Mapping[str, Any]:
    """The types of a dataclass's fields by name, kept because annotations that are text take long to evaluate."""
    return get_type_hints(kind)


@contextmanager
def blaming(where: str | Path, part: str | None = None) -> Generator[None]:
    """Make what a constructor refuses a FormatError about the file, or its part, that the values are from."""
    try:
        yield
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(where, str(error), part=part) from error


def _has_default(entry: dataclasses.Field[Any]) -> bool:
    return entry.default is not dataclasses.MISSING or entry.default_factory is not dataclasses.MISSING


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:30]} is too large a number")
    return value


def _without_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        repeated, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f'the key "{printable(repeated)}" is repeated')
    return values


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object")
