"""Read JSON files into dataclasses with msgspec. Errors name the file, the field and the expected value."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from elmokit.system.messages import FormatError, did_you_mean, printable, readable_bytes, refuse_link_out

MAX_BYTES = 4 << 20
"""A config has a few hundred bytes; one that names thousands of shards of a run has a few hundred thousand."""

_T = TypeVar("_T")
_PAIR = re.compile(r"\[\n\s+(\d+),\n\s+(\d+)\n\s+\]")
"""A filter's [width, number], which reads better on one line. No JSON string contains a line break."""


def read_json(path: Path, kind: type[_T] = dict[str, Any], *, max_bytes: int = MAX_BYTES, is_named: bool = False) -> _T:
    """Read a file that holds one JSON value, an object unless `kind` says otherwise. A byte order mark is allowed.

    kind: the type to read, such as a dataclass; its `__post_init__` may refuse values with a ValueError.
    is_named: the user has named this file, so it may be a symlink that leaves its folder. Other files may not be one,
        because errors quote their contents.

    Raises FileNotFoundError if there is no such file, and FormatError, which names the file, for any other fault.
    """
    if not path.is_file():  # reading a pipe would block
        raise FileNotFoundError(f"{path}: there is no such file")
    if not is_named:
        refuse_link_out(path)
    if path.stat().st_size > max_bytes:
        raise FormatError(path, f"has more than {readable_bytes(max_bytes)}; a config is far smaller")
    return parse_json(path.read_bytes(), kind, where=path)


def parse_json(
    content: str | bytes, kind: type[_T] = dict[str, Any], *, where: str | Path, part: str | None = None
) -> _T:
    """Read a JSON value of a type; errors name `where` (a file, perhaps with a line) and `part`.

    Raises FormatError for invalid JSON, for a value of another type, and for unknown fields of dataclasses.
    """
    if isinstance(content, bytes):
        content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        value: object = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise FormatError(where, f"is not valid JSON: {error}", part=part) from error
    except RecursionError as error:
        raise FormatError(where, "is nested too deeply", part=part) from error
    return as_type(value, kind, where=where, part=part)


def json_lines(lines: Iterable[str], *, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The place (for errors) and object of each line that is not blank. Raises FormatError, naming file and line."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{name}, line {number}"
            yield where, parse_json(line, where=where)


def as_type(value: object, kind: type[_T], *, where: str | Path, part: str | None = None) -> _T:
    """Convert a JSON value, such as a dict, to a type. Raises the same errors as `parse_json`."""
    try:
        _require_known(value, kind)
        return msgspec.convert(value, kind, dec_hook=lambda other, one: one if other is object else other(one))
    except ValueError as error:  # msgspec.ValidationError is one
        reason, _, place = str(error).partition(" - at `$")
        field = place.strip(".`")
        parts = [name for name in (part, f"field {field}" if field else None) if name]
        raise FormatError(where, reason[:1].lower() + reason[1:], part=": ".join(parts) or None) from error


def picked(values: Mapping[str, object], kind: type[_T], *, where: str | Path, part: str | None = None) -> _T:
    """Read an object into a dataclass and ignore unknown fields. Raises the same errors as `parse_json`."""
    known = {entry.name for entry in dataclasses.fields(cast("Any", kind))}
    return as_type({name: value for name, value in values.items() if name in known}, kind, where=where, part=part)


def json_text(path: Path, value: object) -> str:
    """Format a value, such as a dataclass, as the text of a file that `read_json` reads back.

    Raises FormatError, which names `path`, if the text could not be read back.
    """
    try:  # not with msgspec, which writes NaN as null
        text = json.dumps(msgspec.to_builtins(value, str_keys=True), indent=2, ensure_ascii=False, allow_nan=False)
        text = _PAIR.sub(r"[\1, \2]", text) + "\n"
        num_bytes = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise FormatError(path, f"cannot be written as JSON: {error}") from error
    if num_bytes > MAX_BYTES:
        raise FormatError(path, f"would have {readable_bytes(num_bytes)}; at most {readable_bytes(MAX_BYTES)} are read")
    return text


def _require_known(value: object, kind: Any) -> None:
    """Raise ValueError if an object to be read as a dataclass has a field that the dataclass lacks."""
    if not (dataclasses.is_dataclass(kind) and isinstance(value, Mapping)):
        return
    fields = get_type_hints(kind)
    for name, inner in cast("Mapping[str, object]", value).items():
        if name not in fields:
            hint = did_you_mean(name, fields)
            raise ValueError(f"field {printable(name)} is not known; {hint}expected {', '.join(fields)}")
        kinds = () if get_origin(fields[name]) is dict else get_args(fields[name])  # of `Config | None`
        for inner_kind in (fields[name], *kinds):
            _require_known(inner, inner_kind)
