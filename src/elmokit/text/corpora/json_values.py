"""JSON that a stranger may have written, read by type; every error says where."""

from __future__ import annotations

import json
from typing import TypeVar, cast

from elmokit.text.lines import split_tokens

T = TypeVar("T")

_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "text", int: "a whole number"}


def parse_object(text: str, *, place: str) -> dict[str, object]:
    """The object in a text; `place` says whose it is, in errors."""
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        near = text[max(error.pos - 20, 0) : error.pos + 20]
        line = f", line {error.lineno}" if "\n" in text else ""
        raise ValueError(f"{place}{line}, character {error.colno}: bad JSON: {error.msg}, near {near!r}") from None
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits; brackets in brackets in brackets
        raise ValueError(f"{place}: bad JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{place}: {text[:60]!r} is not a JSON object; expected {{...}}")
    return cast("dict[str, object]", value)


def member(owner: dict[str, object], name: str, kind: type[T], *, place: str) -> T:
    """What an object has under a name, if it is of that kind."""
    if name not in owner:
        raise ValueError(f"{place}: {name!r} is missing; there are {', '.join(owner) or 'no others'}")
    return _typed(owner[name], kind, place=f"{place}, {name!r}")


def object_members(owner: dict[str, object], name: str, *, place: str) -> list[dict[str, object]]:
    """The list of objects that an object has under a name."""
    values = cast("list[object]", member(owner, name, list, place=place))
    return [
        cast("dict[str, object]", _typed(value, dict, place=f"{place}, {name}[{index}]"))
        for index, value in enumerate(values)
    ]


def words(value: object, *, what: str) -> list[str]:
    """A list of at least one word, none of them empty or with white space."""
    values = cast("list[object]", value) if isinstance(value, list) else []
    found = [word for word in values if isinstance(word, str) and split_tokens(word) == [word]]
    if not found or len(found) < len(values):
        raise ValueError(f"{what} is {str(cast('object', value))[:80]}; expected a list of words without spaces")
    return found


def _typed(value: object, kind: type[T], *, place: str) -> T:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ValueError(f"{place}: {json.dumps(value)[:60]}; expected {_KINDS[kind]}")
    return value
