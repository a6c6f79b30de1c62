"""Writing the folder of a model: folders and files are written atomically."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from elmokit.files.atomic import atomic_write, remove_leftovers_of, temporary_folder
from elmokit.files.locks import lock, remove_stale_lock


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """A temporary folder next to `path`, renamed to `path` on success and removed on failure.

    Raises FileExistsError if `path` exists and is not an empty folder, and InUseError, an OSError, if another process
    is making it.
    """
    check_new_folder(path)
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with lock(path), temporary_folder(target, named=path) as folder:
        check_new_folder(path)  # again, now that no other process can make it
        staging = folder / target.name
        staging.mkdir()
        yield staging
        if target.exists():
            target.rmdir()
        os.replace(staging, target)


def check_new_folder(path: Path) -> None:
    """Raise OSError if no new folder can be made at `path`: something is there, or the place is read-only."""
    if not is_free(path):
        remove_stale_lock(path)  # of a process that was killed when the folder was whole
        if path.is_dir():
            remove_leftovers_of(path.resolve())
        raise FileExistsError(f"{path} exists and is not an empty folder; choose another one or remove it")
    target = path.resolve()
    existing = next(folder for folder in target.parents if folder.exists())
    with temporary_folder(existing / target.relative_to(existing).parts[0], named=path):
        pass


def is_free(path: Path) -> bool:
    """Whether the path does not exist or is an empty folder."""
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file, completely or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
