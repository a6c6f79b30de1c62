"""Settings that were changed while a run was under way: which, from what to what, and at which step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from elmokit.pretraining.config import PretrainingConfig
from elmokit.system.markdown import escape_markdown


@dataclass(frozen=True)
class Change:
    """The settings that one `--resume --set` changed."""

    step: int
    """Number of steps that the run had made."""
    num_tokens: int
    """Number of corpus tokens that it had read."""
    before: Mapping[str, Any]
    """Old values by field."""
    after: Mapping[str, Any]
    """New values of the same fields."""

    def __post_init__(self) -> None:
        if self.before.keys() != self.after.keys():
            raise ValueError("before has other settings than after")

    def __str__(self) -> str:
        """Step and settings, such as `step 1,000: num_steps 2000 -> 3000`."""
        settings = ", ".join(f"{name} {self.before[name]} -> {value}" for name, value in self.after.items())
        return f"step {self.step:,}: {settings}"


def with_change(
    changes: Sequence[Change], old: PretrainingConfig, new: PretrainingConfig, *, step: int, num_tokens: int
) -> tuple[Change, ...]:
    """The changes of a run that continues at `step` with new settings; none is added if the settings are the old ones.

    A change that was recorded at a later step, whose checkpoint was lost since, holds from this step on.
    """
    known = [change if change.step <= step else replace(change, step=step, num_tokens=num_tokens) for change in changes]
    before, after = old.to_json(), new.to_json()
    names = [entry.name for entry in dataclasses.fields(PretrainingConfig) if before[entry.name] != after[entry.name]]
    if names:
        values = ({name: record[name] for name in names} for record in (before, after))
        known.append(Change(step, num_tokens, *values))
    return tuple(known)


def changes_text(changes: Sequence[Change]) -> str:
    """A sentence of Markdown about the changes; empty if there are none."""
    if not changes:
        return ""
    return f"Settings were changed under way: {escape_markdown('; '.join(map(str, changes)))}."
