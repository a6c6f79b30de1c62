"""What the attack by damaged files reads: a folder that we wrote, and what a user does with such a folder."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from attacks.mutations import Files, read

Use = Callable[[Path], object]


@dataclass(frozen=True)
class Target:
    """A folder and a way to read it."""

    name: str
    files: Files
    use: Use
    """Reads a folder of these files. Raises ValueError or OSError for one that is damaged."""
    is_named: bool = False
    """Whether a user names each file, which may then be a pipe or a device."""

    @property
    def num_bytes(self) -> int:
        """Size of all files, which bounds the memory that reading may take."""
        return sum(map(len, self.files.values()))


def target(name: str, folder: Path, make: Use, *uses: Use, is_named: bool = False) -> Target:
    """A target of the first use and of the files that `make` writes into a new folder; all uses must read them."""
    place = folder / name.replace(" ", "-").replace("/", "-")
    with redirect_stderr(io.StringIO()):
        make(place)
        files = read(place)
        for use in uses:
            use(place)  # imports what it needs
    return Target(name, files, uses[0], is_named)


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder on a disk in memory, if there is one, which is removed afterwards."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with TemporaryDirectory(prefix="attack-", dir=memory, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
