"""The right error for JSON lines where another format is expected, and for data that should be JSON lines."""

from __future__ import annotations

from elmokit.files.json_fields import parse_json_object


class UnlabelledError(ValueError):
    """Data have everything except the column of their labels. To be predicted, they are given as JSON lines."""


def refuse_json(line: str, *, where: str, expected: str) -> None:
    """Raise ValueError, naming `where` and what was `expected`, if a line is a JSON object; otherwise do nothing."""
    if not line.lstrip().startswith("{"):
        return
    try:
        parse_json_object(line, where=where)
    except ValueError:
        return
    raise ValueError(
        f"{where}: this is a line of JSON; expected {expected} (predict reads JSON lines from *.jsonl files, or with "
        "--input-kind json)"
    )
