"""What the attack by damaged files reads: a folder that we wrote, and what a user does with such a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attacks.mutations import Files, read


@dataclass(frozen=True)
class Target:
    """A folder and a way to read it."""

    name: str
    files: Files
    use: Callable[[Path], object]
    """Reads a folder of these files. Raises ValueError or OSError for one that is damaged."""

    @property
    def num_bytes(self) -> int:
        """Size of all files, which bounds the memory that reading may take."""
        return sum(map(len, self.files.values()))


def target(name: str, folder: Path, make: Callable[[Path], object], use: Callable[[Path], object]) -> Target:
    """A target of the files that `make` writes into a new folder; they must be readable."""
    place = folder / name.replace(" ", "-").replace("/", "-")
    make(place)
    files = read(place)
    use(place)  # imports what it needs
    return Target(name, files, use)


Targets = Callable[[Path], Iterator[Target]]
