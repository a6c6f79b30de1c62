"""Settings in frozen dataclasses, changed by `field=value`."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Any, cast, get_args, get_type_hints

import msgspec

from elmokit.system.messages import did_you_mean, first_token


def change_settings(parts: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Apply settings (`field=value` or `part.field=value`) to frozen dataclasses, given and returned by name.

    A field that is itself a dataclass cannot be set as a whole. Raises ValueError, naming the setting, for unknown
    fields, a field that several parts have, values of the wrong type, and values that the dataclass refuses.
    """
    if isinstance(settings, str):
        raise ValueError(f"the settings are {settings!r}; expected a list: [{settings!r}]")
    kinds = {part: _settable(config.__class__) for part, config in parts.items()}
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


def check_known(name: str, known: Sequence[str]) -> None:
    """Raise ValueError, suggesting the nearest known field, if a field is unknown."""
    if name not in known:
        hint = did_you_mean(name, known).strip() or f"known fields: {', '.join(sorted(known))}"
        raise ValueError(f"unknown field {name!r}; {hint}")


def check_bounds(
    config: Any,
    *,
    positive: Sequence[str] = (),
    counts: Sequence[str] = (),
    above_zero: Sequence[str] = (),
    rates: Sequence[str] = (),
    prefix: str = "",
) -> None:
    """Check that fields of a config are finite and within bounds. If a field is a tuple, check each of its numbers.

    positive: fields of at least 1; counts: fields of at least 0; rates: fields of at least 0 and below 1.
    prefix: prefix that users write before the names of these fields, such as `elmo.`
    Raises ValueError with the field, its value and the allowed values.
    """
    kinds: tuple[tuple[Sequence[str], Callable[[float], bool], str], ...] = (
        (positive, lambda number: number >= 1, "expected at least 1"),
        (counts, lambda number: number >= 0, "it must not be negative"),
        (above_zero, lambda number: number > 0, "it must be positive"),
        (rates, lambda number: 0 <= number < 1, "expected at least 0 and below 1"),
    )
    for names, is_allowed, expected in kinds:
        for name in names:
            value: object = getattr(config, name)
            numbers = cast("tuple[float, ...]", value) if isinstance(value, tuple) else (cast("float", value),)
            if not all(abs(number) < math.inf for number in numbers):
                raise ValueError(f"{prefix}{name} is {value}; expected a finite number")
            if not all(map(is_allowed, numbers)):
                raise ValueError(f"{prefix}{name} is {value}; {expected}")


def check_choices(config: Any, choices: Mapping[str, Sequence[str]], *, prefix: str = "") -> None:
    """Check that each of these fields has one of the given values. Raises ValueError as `check_bounds` does."""
    for name, known in choices.items():
        value = getattr(config, name)
        if value not in known:
            raise ValueError(f"{prefix}{name} is {first_token(str(value))}; expected one of {', '.join(known)}")


@cache
def _settable(record: Any) -> Mapping[str, Any]:
    """Types of the fields by name; fields that hold dataclasses are left out."""
    kinds = get_type_hints(record)
    return {entry.name: kinds[entry.name] for entry in dataclasses.fields(record) if not _has_fields(kinds[entry.name])}


def _has_fields(kind: Any) -> bool:
    return any(dataclasses.is_dataclass(one) for one in (kind, *get_args(kind)))  # `Config | None` too


def _find_field(name: str, kinds: Mapping[str, Mapping[str, Any]]) -> tuple[str, str]:
    part, dot, field = name.partition(".")
    if dot and part in kinds:
        check_known(field, list(kinds[part]))
        return part, field
    check_known(name, [field for fields in kinds.values() for field in fields])
    homes = [part for part, fields in kinds.items() if name in fields]
    if len(homes) > 1:
        raise ValueError(f"there is more than one {name}; write {' or '.join(f'{part}.{name}' for part in homes)}")
    return homes[0], name


def _parse(name: str, text: str, kind: Any) -> object:
    if kind is str:
        return text
    is_word = kind is bool or NoneType in get_args(kind)
    word = text.lower() if is_word and text.lower() in ("true", "false", "none") else text
    try:
        return msgspec.json.decode("null" if word == "none" else word, type=kind)
    except (msgspec.DecodeError, UnicodeError) as error:
        expected = inspect.formatannotation(kind)
        expected = f"a finite {expected}" if expected.startswith("float") else expected
        raise ValueError(f"setting {name}={text}: expected {expected}") from error
