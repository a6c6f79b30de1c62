"""The right error for JSON lines that are given where another format is expected."""

from __future__ import annotations

from elmokit.system.json_fields import parse_json_object


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
