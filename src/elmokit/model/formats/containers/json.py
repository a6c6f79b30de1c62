"""JSON objects out of files that a stranger may have written: small, finite, without repeated keys, read by type."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, TypeVar, cast

from elmokit.model.formats.stored import FormatError, readable_bytes, shown

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

MAX_BYTES = 4 << 20
"""A config has some hundred bytes, or, of a run, the names of thousands of shards."""

_T = TypeVar("_T")
_PAIR = re.compile(r"\[\n\s+(\d+),\n\s+(\d+)\n\s+\]")
"""A filter, which reads better on one line; a line break is never within a string."""


def read_json_object(path: Path, *, max_bytes: int = MAX_BYTES) -> dict[str, object]:
    """The object in a file; `FormatError` for anything else. A byte order mark is allowed."""
    if not path.is_file():  # a pipe would keep us waiting
        raise FileNotFoundError(f"{path}: there is no such file")
    if path.stat().st_size > max_bytes:
        raise FormatError(path, f"has more than {readable_bytes(max_bytes)}; a config is far smaller")
    return parse_json_object(path, path.read_bytes())


def parse_json_object(path: Path, content: bytes, *, part: str | None = None) -> dict[str, object]:
    """The object in `content`, which stands in the file (in that part of it, if one is given)."""
    try:
        value: object = json.loads(
            content.decode("utf-8-sig"),
            parse_constant=_refuse_constant,
            parse_float=_finite_float,
            object_pairs_hook=_without_repeated_keys,
        )
    except UnicodeDecodeError as error:
        raise FormatError(path, f"is not UTF-8 (byte {error.start})", part=part) from error
    except RecursionError as error:
        raise FormatError(path, "is nested too deeply", part=part) from error
    except ValueError as error:  # json.JSONDecodeError, numbers of thousands of digits, and our own
        raise FormatError(path, f"is not valid JSON: {error}", part=part) from error
    if not isinstance(value, dict):
        raise FormatError(path, f"holds {_kind(value)}; expected an object {{...}}", part=part)
    return cast("dict[str, object]", value)


def json_text(path: Path, values: dict[str, object]) -> str:
    """What `read_json_object` reads back; `FormatError`, which names the file that it is meant for, if it would not."""
    try:
        text = _PAIR.sub(r"[\1, \2]", json.dumps(values, indent=2, allow_nan=False)) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(path, f"cannot be written as JSON: {error}") from error
    if len(text) > MAX_BYTES:
        raise FormatError(path, f"would have {readable_bytes(len(text))}; at most {readable_bytes(MAX_BYTES)} are read")
    return text


class Fields:
    """Reads of a parsed object by type; every error names the file and the field. `unread`: what nobody asked for."""

    def __init__(self, path: Path, values: dict[str, object], *, prefix: str = "") -> None:
        self.path = path
        self._values = values
        self._prefix = prefix
        self._unread = dict.fromkeys(values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def unread(self) -> list[str]:
        return [self._prefix + name for name in self._unread]

    def require_known(self, names: Collection[str]) -> None:
        for name in self._values:
            if name not in names:
                raise self.error(name, f"is not known; expected {', '.join(names)}")

    def error(self, name: str, reason: str) -> FormatError:
        return FormatError(self.path, reason, part=f"field {self._prefix}{name}")

    def value(self, name: str) -> object:
        if name not in self._values:
            raise self.error(name, "is missing")
        self._unread.pop(name, None)
        return self._values[name]

    def fields(self, name: str) -> Fields:
        return Fields(self.path, self.object(name), prefix=f"{self._prefix}{name}.")

    def object(self, name: str) -> dict[str, object]:
        return cast("dict[str, object]", self._typed(name, dict, "an object"))

    def text(self, name: str) -> str:
        return self._typed(name, str, "text")

    def boolean(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def integer(self, name: str, *, least: int, most: int) -> int:
        return self._in_bounds(name, self.value(name), least=least, most=most)

    def number_or_none(self, name: str, *, most: float) -> float | None:
        """0 or more, null, or absent, which is null too."""
        if name not in self._values:
            return None
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(name, f"is {_kind(value)}; expected a number or null")
        if not 0 <= value <= most:
            raise self.error(name, f"is {shown(str(value))}; expected 0 to {most:g}")
        return float(value)

    def integers(self, name: str, *, most_integers: int, most: int) -> tuple[int, ...]:
        """A list of whole numbers, 0 or more."""
        values = cast("list[object]", self._typed(name, list, "a list of whole numbers"))
        if len(values) > most_integers:
            raise self.error(name, f"has {len(values)} entries; expected at most {most_integers}")
        return tuple(self._in_bounds(name, value, least=0, most=most) for value in values)

    def pairs(self, name: str, *, most_pairs: int, most: int) -> tuple[tuple[int, int], ...]:
        """A list of [width, number], all at least 1."""
        pairs = cast("list[object]", self._typed(name, list, "a list of [width, number]"))
        if not 1 <= len(pairs) <= most_pairs:
            raise self.error(name, f"has {len(pairs)} entries; expected 1 to {most_pairs}")
        read: list[tuple[int, int]] = []
        for pair in pairs:
            values = cast("list[object]", pair) if isinstance(pair, list) else []
            if len(values) != 2:
                raise self.error(name, "holds something that is not a pair; expected [width, number]")
            width, number = values
            read.append(
                (
                    self._in_bounds(name, width, least=1, most=most),
                    self._in_bounds(name, number, least=1, most=most),
                )
            )
        return tuple(read)

    def _typed(self, name: str, kind: type[_T], expected: str) -> _T:
        value = self.value(name)
        if not isinstance(value, kind):
            raise self.error(name, f"is {_kind(value)}; expected {expected}")
        return value

    def _in_bounds(self, name: str, value: object, *, least: int, most: int) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(name, f"is {_kind(value)}; expected a whole number")
        if not least <= value <= most:
            raise self.error(name, f"is {shown(str(value))}; expected {least} to {most}")
        return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


def _finite_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:30]} is too large a number")
    return value


def _without_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, value in pairs:
        if name in values:
            raise ValueError(f'the key "{shown(name)}" stands there twice')
        values[name] = value
    return values


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list"}
    return names.get(type(value), "an object")
