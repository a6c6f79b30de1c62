"""Extension of griffe: the lines `name: what it is` of our docstrings become lists, so that they are read as such."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"^(?P<name>[a-z_]\w*(?:, [a-z_]\w*)*): (?P<text>\S.*)$")


class Arguments(griffe.Extension):
    """Rewrites the docstrings of everything that is shown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for each object that has a docstring or not."""
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value)


def as_list(docstring: str) -> str:
    """The docstring with a bullet before each entry, and a blank line around a list of them."""
    lines: list[str] = []
    in_list = False
    for line in docstring.splitlines():
        entry = _ENTRY.match(line)
        continues = in_list and line.startswith("    ")
        if (entry is not None) != in_list and not continues and line and lines and lines[-1]:
            lines.append("")
        in_list = entry is not None or continues
        lines.append(f"* **{entry['name']}**: {entry['text']}" if entry else line)
    return "\n".join(lines)
