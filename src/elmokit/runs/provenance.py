"""Where a result comes from: the package's version, the commit of its source, and the date."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

from elmokit.version import __version__

UNKNOWN = "unknown"


def provenance() -> dict[str, str]:
    """`version`, `commit` (see `commit_of`) and `date` (in UTC), for a line of a log."""
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"version": __version__, "commit": commit_of(Path(__file__)), "date": date}


def commit_of(file: Path) -> str:
    """The commit of the repository that tracks a file, with a plus if tracked files differ from it.

    `unknown` for a file that no repository tracks, such as one of a package installed in somebody's checkout.
    """
    if _git(file.parent, "ls-files", "--error-unmatch", file.name) is None:
        return UNKNOWN
    return _git(file.parent, "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*") or UNKNOWN


def _git(folder: Path, *arguments: str) -> str | None:
    """What git prints; None if there is no git, or it refuses."""
    try:
        done = subprocess.run(("git", "-C", str(folder), *arguments), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
