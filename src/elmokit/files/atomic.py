"""Atomic writes: make a file or folder in a temporary folder next to it, and move it into place once it is complete.

A temporary folder is locked as long as its process lives (`files.locks`). When a process is killed, its folder stays
behind unlocked, and the next process that writes to the same target removes it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from elmokit.files.locks import InUseError, lock
from elmokit.system.paths import expanded

_LEFTOVER = re.compile(r"\.?(\..+\.[0-9a-f]{16}\.tmp)(\.lock)?", re.DOTALL)
"""Name of a temporary folder (the first group) or of its lock, which can exist without the folder."""
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, a used-up quota, and a file that is larger than the disk can hold."""


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path with the name of `path`. Its file replaces `path` at the end, or is removed on failure.

    Follows links. Raises the errors of `check_output` at once, before the caller computes anything. An OSError about
    the temporary file names `path`.
    """
    target = _real_target(path)
    with temporary_folder(target, named=path) as folder:
        unfinished = folder / target.name
        yield unfinished
        # the new folder shows the usual mode of a new file; asking `os.umask` would change it for all threads
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else folder.stat().st_mode & 0o666
        unfinished.chmod(mode)  # its writer may have made it readable by its owner only
        with unfinished.open("r+b") as file:
            os.fsync(file.fileno())
        unfinished.replace(target)


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise OSError if no file can be written at `path`, and remove what a killed process left there.

    That is the case when the folder is missing or read-only, or the path is a folder, a read-only file, a device, a
    pipe or a dangling link. Raises ValueError for `-`, because users may expect it to mean standard output.
    """
    with temporary_folder(_real_target(path), named=path):
        pass


def check_is_not_input(written: Path | None, *inputs: str | os.PathLike[str] | None) -> None:
    """Raise ValueError if the output would overwrite one of the inputs. None means that there is no such file."""
    for path in inputs:
        if written is None or path is None or not written.exists():
            continue
        if os.path.exists(path) and written.samefile(path):
            raise ValueError(f"{os.fspath(path)} would be replaced by the output; give the output another name")


def as_paths(files: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The files as paths. Raises ValueError for a single path, because its letters would be taken for file names."""
    if isinstance(files, str | os.PathLike):
        raise ValueError(f"{os.fspath(files)} is a single path; expected a list of files: [{os.fspath(files)!r}]")
    return [expanded(file) for file in files]


def check_names(*paths: str | os.PathLike[str]) -> None:
    """Raise ValueError for a path that is not UTF-8, because text and JSON files could not name it."""
    for path in paths:
        try:
            os.fspath(path).encode("utf-8")
        except UnicodeEncodeError:
            raise ValueError(f"{os.fspath(path)}: its name is not UTF-8; rename the file or folder") from None


def remove_leftovers(folder: Path) -> None:
    """Remove the unfinished files of killed processes from a folder and its subfolders.

    Files that a process is still writing stay.
    """
    for parent, names, files in os.walk(folder):  # skips what others remove meanwhile
        for found in filter(None, map(_LEFTOVER.fullmatch, [*names, *files])):
            _remove_if_left(Path(parent, found[1]))


@contextmanager
def temporary_folder(target: Path, *, named: str | os.PathLike[str] | None = None) -> Generator[Path]:
    """Yield a new hidden folder next to `target`, on the same disk, and remove it at the end.

    First removes the folders that killed processes left for the same target; folders of running processes stay. An
    OSError about the folder or a file in it, or about a full disk without a file name, is raised with the name of the
    target (`named`). Raises FileNotFoundError when the parent folder does not exist.
    """
    named = target if named is None else named
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{named}: the folder {target.parent} does not exist; create it first")
    ours = re.compile(rf"\.?(\.{re.escape(target.name)}\.[0-9a-f]{{16}}\.tmp)(\.lock)?")
    for found in filter(None, map(ours.fullmatch, os.listdir(target.parent))):
        _remove_if_left(target.with_name(found[1]))
    folder = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    try:
        with ExitStack() as held:
            with suppress(InUseError):  # the name is new; filelock also raises this for some read-only places
                held.enter_context(lock(folder, warns=False))
            held.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.mkdir()
            yield folder
    except OSError as error:
        of_no_file = error.filename is None and error.errno in DISK_FULL
        if of_no_file or str(error.filename).startswith(str(target.with_name(f".{target.name}."))):
            raise OSError(error.errno, error.strerror, os.fspath(named)) from error
        raise


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """A temporary folder next to `path`, renamed to `path` on success and removed on failure.

    Raises FileExistsError if `path` exists and is not an empty folder, and InUseError, an OSError, if another process
    is creating it.
    """
    check_new_folder(path)
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with lock(path), temporary_folder(target, named=path) as folder:
        check_new_folder(path)  # again, now that no other process can create it
        staging = folder / target.name
        staging.mkdir()
        yield staging
        if target.exists():
            target.rmdir()
        os.replace(staging, target)


def check_new_folder(path: Path) -> None:
    """Raise OSError if no new folder can be made at `path`: something is there, or the place is read-only."""
    is_free = not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))
    if not is_free:
        raise FileExistsError(f"{path} exists and is not an empty folder; choose another one or remove it")
    target = path.resolve()
    existing = next(folder for folder in target.parents if folder.exists())
    with temporary_folder(existing / target.relative_to(existing).parts[0], named=path):
        pass


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file, completely or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _real_target(path: str | os.PathLike[str]) -> Path:
    if os.fspath(path) == "-":
        raise ValueError(
            "- cannot name an output; name a file. Commands that write to standard output do so without -o"
        )
    if os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)):  # such as /dev/stdout
        raise OSError(f"{path} is a device or a pipe; expected the name of a file, which is replaced as a whole")
    target = Path(os.path.realpath(path))
    if os.path.islink(path) and not target.exists():
        raise FileNotFoundError(f"{path} is a link to {target}, which does not exist; remove the link first")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected the name of a file")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{path} is read-only; choose another name, or make it writable")
    return target


def _remove_if_left(folder: Path) -> None:
    with suppress(OSError), lock(folder, warns=False) as is_held:  # raises InUseError if its process is alive
        if is_held:
            shutil.rmtree(folder, ignore_errors=True)
