"""Settings as frozen dataclasses: changed by `field=value`."""

import dataclasses
import inspect
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, cast, get_args

from elmokit.files.json_fields import LARGEST_INTEGER, Fields, parse_json, types_of
from elmokit.system.messages import did_you_mean


def change_settings(parts: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """Change frozen dataclasses, given and returned by name, by settings `field=value` or `part.field=value`.

    A field that is itself a dataclass cannot be set as a whole. Raises ValueError, naming the setting, for unknown
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


def check_known(name: str, known: Sequence[str]) -> None:
    """Raise ValueError, suggesting the nearest one, if a field is not among those known."""
    if name not in known:
        hint = did_you_mean(name, known).strip() or f"known fields: {', '.join(sorted(known))}"
        raise ValueError(f"unknown field {name!r}; {hint}")


def _settable(config: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    types = types_of(cast("type[object]", type(config)))
    own = {entry.name: types[entry.name] for entry in dataclasses.fields(config) if entry.name not in parts}
    return {name: kind for name, kind in own.items() if not any(map(dataclasses.is_dataclass, (kind, *get_args(kind))))}


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
    where = f"setting {name}={text}"
    if NoneType in get_args(kind) and text.lower() == "none":
        text = "null"
    try:
        value = parse_json(text.lower() if kind is bool else text, where=where)
    except ValueError as error:
        kind_name = inspect.formatannotation(kind)
        expected = f"a finite {kind_name}" if kind_name.startswith("float") else kind_name
        raise ValueError(f"{where}: expected {expected}") from error
    return Fields(where, {name: value}).read(name, kind, least=-LARGEST_INTEGER)
