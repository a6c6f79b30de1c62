"""What became of attacks: one record for each attempt, and counts per target and outcome for each part, in JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path

MOST_DEFECTS = 50
"""Defects of a part that are described in the results; all are counted."""


class Outcome(StrEnum):
    """How an attempt ended."""

    OK = "ok"
    REFUSED = "refused in one line"
    TRACEBACK = "traceback"
    CRASH = "crash"
    HANG = "hang"
    MEMORY = "memory"
    WRONG = "wrong"
    """Other bits than expected, a row for another line, a file half written."""

    @property
    def is_defect(self) -> bool:
        """Whether this must not happen."""
        return self not in (Outcome.OK, Outcome.REFUSED)


@dataclass(frozen=True)
class Attempt:
    """One attempt."""

    target: str
    """What was attacked: a format, a verb."""
    outcome: Outcome
    note: str = ""
    """Of a defect: what to repeat it with, and what it looked like."""
    units: int = 1
    """What one attempt counts for: a file of odd text counts for its lines."""
    measured: dict[str, float] = field(default_factory=dict[str, float])
    """Of these the largest is kept: memory, seconds."""


@dataclass(frozen=True)
class Part:
    """A kind of attack: a sub-command of `tests/fuzz/attack.py`."""

    name: str
    attempts: Callable[[int, range], Iterator[Attempt]]
    """Seed and numbers -> the attempts of these numbers. What number `n` does follows from the seed and `n` alone."""
    count: int
    """Attempts by default."""
    small_count: int
    """Attempts of the part that `make test` runs."""


@dataclass
class Result:
    """What became of the attempts of one part."""

    part: str
    commands: list[str]
    machine: str
    version: str
    """Of elmokit."""
    seconds: float = 0.0
    counts: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """By target, then by outcome."""
    largest: dict[str, float] = field(default_factory=dict[str, float])
    """The largest of everything that attempts measured."""
    defects: list[str] = field(default_factory=list[str])
    """The first ones, described."""

    @property
    def num_defects(self) -> int:
        """How many attempts ended as none should."""
        ended = [item for outcomes in self.counts.values() for item in outcomes.items()]
        return sum(number for outcome, number in ended if Outcome(outcome).is_defect)

    def add(self, counts: dict[str, dict[str, int]], measured: dict[str, float], defects: list[str]) -> None:
        """Add what became of more attempts."""
        for target, outcomes in counts.items():
            sums = Counter(self.counts.get(target, {})) + Counter(outcomes)
            self.counts[target] = dict(sorted(sums.items()))
        for name, value in measured.items():
            self.largest[name] = max(value, self.largest.get(name, value))
        self.defects = (self.defects + defects)[:MOST_DEFECTS]


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write results, keyed by part: several of one part are added up."""
    parts: dict[str, Result] = {}
    for result in results:
        whole = parts.setdefault(result.part, Result(result.part, [], result.machine, result.version))
        whole.commands += result.commands
        whole.seconds = round(whole.seconds + result.seconds, 1)
        whole.add(result.counts, result.largest, result.defects)
    in_order = (asdict(whole) | {"counts": dict(sorted(whole.counts.items()))} for _, whole in sorted(parts.items()))
    path.write_text(json.dumps({whole["part"]: whole for whole in in_order}, indent=2) + "\n", encoding="utf-8")


def read_results(path: Path) -> list[Result]:
    """Read what `write_results` wrote."""
    return [Result(**record) for record in json.loads(path.read_text(encoding="utf-8")).values()]
