"""Settings as frozen dataclasses: changed by `field=value`, and read by type from the JSON of a run."""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
from typing import TYPE_CHECKING, Any, cast

from elmokit.files.json_fields import LARGEST_INTEGER, Fields
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_FILTER_GROUPS = 64


def change_settings(parts: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Change frozen dataclasses, given and returned by name, by settings `field=value` or `part.field=value`.

    A field that is itself one of the parts cannot be set as a whole. Raises ValueError, naming the setting, for unknown
    fields, a field that several parts have, values of the wrong type, and values that the dataclass refuses.
    """
    if isinstance(settings, str):
        raise ValueError(f"the settings are {settings!r}; expected a list: [{settings!r}]")
    kinds = {part: _settable(config, parts) for part, config in parts.items()}
    changes: dict[str, dict[str, object]] = {part: {} for part in parts}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ValueError(f"setting {setting!r} has no '='; write field=value, for example seed=1")
        part, name = _find_field(name.strip(), kinds)
        changes[part][name] = _parse(name, text.strip(), kinds[part][name])
    try:
        return {part: dataclasses.replace(config, **changes[part]) for part, config in parts.items()}
    except (TypeError, ValueError) as error:
        raise ValueError(f"setting {' '.join(settings)}: {error}") from error


def settings_of(fields: Fields, kind: type[Any], *, but: Mapping[str, Any] | None = None) -> Any:
    """A dataclass of the fields' values, read by type; `but` are values that are read elsewhere.

    Missing fields get their defaults. Raises FormatError, naming the file and the field, for a field that is unknown,
    of the wrong type, or refused by the dataclass.
    """
    types = {entry.name: field_type(entry) for entry in dataclasses.fields(kind)}
    values = dict(but or {})
    try:
        for name in fields.names:
            check_known(name, list(types))
            if name not in values:
                values[name] = _value(fields, name, types[name])
        return kind(**values)
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(fields.where, str(error)) from None


def check_known(name: str, known: Sequence[str]) -> None:
    """Raise ValueError, suggesting the nearest names, if a field is not among those known."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known fields: {', '.join(sorted(known))}"
        raise ValueError(f"unknown field {name!r}; {hint}")


def field_type(entry: dataclasses.Field[Any]) -> str:
    """The type of a dataclass's field as it is written, such as `int` or `float | None`."""
    return entry.type if isinstance(entry.type, str) else entry.type.__name__


def _value(fields: Fields, name: str, kind: str) -> Any:
    read = {"bool": fields.boolean, "int": fields.integer, "float": fields.number, "str": fields.text}.get(kind)
    if read is not None:
        return read(name)
    if kind == "tuple[tuple[int, int], ...]":
        return fields.pairs(name, most_pairs=MAX_FILTER_GROUPS, most=LARGEST_INTEGER)
    if kind == "tuple[int, int]":
        numbers = fields.integers(name, most_integers=2, most=LARGEST_INTEGER)
    else:
        numbers = fields.numbers(name)
    if len(numbers) != 2:
        raise fields.error(name, f"has {len(numbers)} numbers; expected 2")
    return numbers


def _settable(config: Any, parts: Mapping[str, Any]) -> dict[str, str]:
    return {entry.name: field_type(entry) for entry in dataclasses.fields(config) if entry.name not in parts}


def _find_field(name: str, kinds: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    part, dot, field = name.partition(".")
    if dot and part in kinds:
        check_known(field, list(kinds[part]))
        return part, field
    check_known(name, [field for fields in kinds.values() for field in fields])
    homes = [part for part, fields in kinds.items() if name in fields]
    if len(homes) > 1:
        raise ValueError(f"there is more than one {name}; write {' or '.join(f'{part}.{name}' for part in homes)}")
    return homes[0], name


def _parse(name: str, text: str, kind: str) -> object:
    if kind == "str":
        return text
    if text.lower() in ("none", "null") and "None" in kind:
        return None
    try:
        value = json.loads(text.lower() if kind == "bool" else text, parse_constant=_refuse)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("too large a number")
    except ValueError as error:
        expected = f"a finite {kind}" if kind.startswith("float") else kind
        raise ValueError(f"setting {name}={text}: expected {expected}") from error
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {
        "bool": isinstance(value, bool),
        "int": is_number and isinstance(value, int),
        "float": is_number,
        "float | None": is_number,
    }.get(kind, isinstance(value, list))
    if not fits:
        raise ValueError(f"setting {name}={text}: expected {kind}")
    if isinstance(value, list):
        return _value(Fields(f"setting {name}={text}", {name: cast("list[object]", value)}), name, kind)
    return float(value) if kind.startswith("float") else value


def _refuse(constant: str) -> object:
    """Config files, which are JSON, have no NaN and no infinity."""
    raise ValueError(constant)
