"""Bounds of the settings of a task's model: widths, counts and rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast


def check_bounds(
    config: Any, *, positive: Sequence[str] = (), counts: Sequence[str] = (), rates: Sequence[str] = ()
) -> None:
    """Check fields of a config; one that is a tuple is checked number by number.

    positive: fields of at least 1; counts: of at least 0; rates: of dropout, at least 0 and below 1.
    Raises ValueError, naming the field, its value and what is expected.
    """
    for name in positive:
        if min(_numbers(config, name)) < 1:
            raise ValueError(f"{name} is {getattr(config, name)}; expected at least 1")
    for name in counts:
        if min(_numbers(config, name)) < 0:
            raise ValueError(f"{name} is {getattr(config, name)}; it must not be negative")
    for name in rates:
        if not all(0 <= rate < 1 for rate in _numbers(config, name)):
            raise ValueError(f"{name} is {getattr(config, name)}; expected at least 0 and below 1")


def _numbers(config: Any, name: str) -> tuple[float, ...]:
    value: object = getattr(config, name)
    return cast("tuple[float, ...]", value) if isinstance(value, tuple) else (cast("float", value),)
