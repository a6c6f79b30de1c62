"""What became of attacks: one record for each attempt, and counts per target and outcome for each part, in JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
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
    summary: str
    attempts: Callable[[int, range], Iterator[Attempt]]
    """Seed and numbers -> the attempts of these numbers. What number `n` does follows from the seed and `n` alone."""
    count: int
    """Attempts by default."""
    small_count: int
    """Attempts of the part that `make test` runs."""


@dataclass(frozen=True)
class Result:
    """What became of the attempts of one part."""

    part: str
    commands: list[str]
    machine: str
    version: str
    """Of elmokit."""
    seconds: float
    counts: dict[str, dict[str, int]]
    """By target, then by outcome."""
    largest: dict[str, float]
    """The largest of everything that attempts measured."""
    defects: list[str]
    """The first ones, described."""

    @property
    def num_defects(self) -> int:
        """How many attempts ended as none should."""
        return sum(
            number
            for outcomes in self.counts.values()
            for outcome, number in outcomes.items()
            if Outcome(outcome).is_defect
        )


def result_of(
    part: str, attempts: Iterable[Attempt], *, command: str, machine: str, version: str, clock: Callable[[], float]
) -> Result:
    """Run the attempts and count their outcomes; `clock` gives seconds."""
    began = clock()
    counts: dict[str, Counter[str]] = {}
    largest: dict[str, float] = {}
    defects: list[str] = []
    for attempt in attempts:
        counts.setdefault(attempt.target, Counter())[attempt.outcome.value] += attempt.units
        for name, value in attempt.measured.items():
            largest[name] = max(value, largest.get(name, value))
        if attempt.outcome.is_defect and len(defects) < MOST_DEFECTS:
            defects.append(f"{attempt.target}: {attempt.outcome}: {attempt.note}")
    return Result(
        part=part,
        commands=[command],
        machine=machine,
        version=version,
        seconds=round(clock() - began, 1),
        counts={target: dict(sorted(outcomes.items())) for target, outcomes in sorted(counts.items())},
        largest=largest,
        defects=defects,
    )


def merged(first: Result, second: Result) -> Result:
    """The counts of two runs of a part together. Raises ValueError unless machine and version are the same."""
    if (first.machine, first.version) != (second.machine, second.version):
        raise ValueError(
            f"{first.part}: runs of {first.machine}, {first.version} and {second.machine}, {second.version}"
        )
    targets = sorted({*first.counts, *second.counts})
    sums = {t: Counter(first.counts.get(t, {})) + Counter(second.counts.get(t, {})) for t in targets}
    return Result(
        part=first.part,
        commands=first.commands + second.commands,
        machine=first.machine,
        version=first.version,
        seconds=round(first.seconds + second.seconds, 1),
        counts={target: dict(sorted(outcomes.items())) for target, outcomes in sums.items()},
        largest={
            name: max(result.largest[name] for result in (first, second) if name in result.largest)
            for name in {**first.largest, **second.largest}
        },
        defects=(first.defects + second.defects)[:MOST_DEFECTS],
    )


def by_part(results: Iterable[Result]) -> list[Result]:
    """One result for each part: several of one part are merged."""
    parts: dict[str, Result] = {}
    for result in results:
        parts[result.part] = merged(parts[result.part], result) if result.part in parts else result
    return [parts[name] for name in sorted(parts)]


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write results, keyed by part; several of one part are merged."""
    record = {result.part: asdict(result) for result in by_part(results)}
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def read_results(path: Path) -> list[Result]:
    """Read what `write_results` wrote."""
    return [Result(**record) for record in json.loads(path.read_text(encoding="utf-8")).values()]
