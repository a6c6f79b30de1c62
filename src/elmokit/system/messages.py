"""Errors that name a file, warnings that point to a line of the user's code, and text that is safe to print."""

import difflib
import inspect
import os
import re
import warnings
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TypeVar

_T = TypeVar("_T")
_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
_MAX_SHOWN = 200
_MAX_REASON = 700
_MAX_LISTED = 8
_MAX_TOKEN = 40
_FIRST_TOKEN = re.compile(rf"\s*(\S{{1,{_MAX_TOKEN}}})")


class FormatError(ValueError):
    """A file does not follow its format. The message names the file, the part (a dataset, a field) and the reason.

    `where` is the file, or the file and a line. The message is at most a paragraph, whatever the file contains.
    """

    def __init__(self, where: str | Path, reason: str, *, part: str | None = None) -> None:
        reason = printable(reason, limit=_MAX_REASON)
        super().__init__(f"{where}: {reason}" if part is None else f"{where}: {printable(part)}: {reason}")


@contextmanager
def as_format_error(
    path: Path, reason: str, *, errors: tuple[type[Exception], ...], part: str | None = None
) -> Generator[None]:
    """Turn the errors that a library raises for damaged files into FormatError."""
    try:
        yield
    except FormatError:
        raise
    except errors as error:
        raise FormatError(path, f"{reason}: {printable(str(error))}", part=part) from error


def leads_out(path: Path) -> bool:
    """Whether the file is a symlink that leaves its folder; following one could leak other files into error messages.

    In the Hugging Face cache, all files in `snapshots/REVISION/` are symlinks into `blobs/`. They do not count.
    """
    folder, file = path.parent.resolve(), Path(os.path.realpath(path))
    is_blob = any(above.name == "snapshots" and file.parent == above.parent / "blobs" for above in folder.parents)
    return not (file.is_relative_to(folder) or is_blob)


def refuse_link_out(path: Path) -> None:
    """Raise FormatError for a symlink that leaves its folder. Only a file that the user names may be one."""
    if path.is_symlink() and leads_out(path):
        raise FormatError(path, "is a symlink that leaves its folder, so it is not followed; copy the file there")


def printable(text: str, *, limit: int | None = _MAX_SHOWN) -> str:
    r"""Text from an untrusted source, safe to print: control characters and lone surrogates are escaped (`\x1b`).

    Joiners and no-break spaces stay, because words of Persian or Hindi contain them.

    limit: number of characters to show; the rest is cut off. None shows all of them.
    """
    if limit is not None and len(text) > limit:
        text = text[:limit] + "..."
    kept = "\u00a0\u200c\u200d"
    return "".join(letter if letter.isprintable() or letter in kept else ascii(letter)[1:-1] for letter in text)


def first_token(text: str) -> str:
    """The first token of a text that was read from a file, in quotes. Errors show no more of a file's contents."""
    found = _FIRST_TOKEN.match(text)
    token = found[1] if found else ""
    more = len(token) < len(text.strip())
    return f"{token!r} ..." if more else repr(token or text[:_MAX_TOKEN])


def readable_bytes(num_bytes: int) -> str:
    """A size in words: `512 bytes`, `37.3 GiB`."""
    if num_bytes < 1024:
        return f"{num_bytes} bytes"
    exponent = next((n for n in (1, 2, 3) if num_bytes < 1024 ** (n + 1)), 4)
    return f"{num_bytes / 1024**exponent:.1f} {'KMGT'[exponent - 1]}iB"


def join_names(names: Iterable[str]) -> str:
    """The first few names, safe to print."""
    some = [printable(name) for name in names]
    return ", ".join([*some[:_MAX_LISTED], *(["..."] if len(some) > _MAX_LISTED else [])])


def find_named(known: Mapping[str, _T], name: str, *, what: str) -> _T:
    """The thing of that name. Raises ValueError, suggesting the nearest name, if there is none."""
    if name not in known:
        raise ValueError(f"unknown {what} {name!r}; {did_you_mean(name, known)}expected one of {', '.join(known)}")
    return known[name]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean X? ` with the nearest name; empty if no name is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]}? " if near else ""


def plural(number: int, thing: str) -> str:
    """A number with its noun in the singular or plural: `1 file`, `2,000 files`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def distinct_names(paths: Iterable[Path]) -> list[str]:
    """The name of each path, with as many parent folders as it takes to tell the paths apart."""
    paths = [path.parent.resolve() / path.name for path in paths]
    for length in range(1, max((len(path.parts) for path in paths), default=0)):
        names = [Path(*path.parts[-length:]).as_posix() for path in paths]
        if len(set(names)) == len(set(paths)):
            return names
    return list(map(str, paths))


def warn_caller(message: str) -> None:
    """Give a UserWarning that points to the user's line: the innermost frame outside elmokit and torch."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and _is_passed_over(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)  # with Python 3.12, `skip_file_prefixes` does this


def _is_passed_over(frame: FrameType) -> bool:
    """Whether a frame belongs to elmokit, or to torch, which runs between a module's caller and its `forward`."""
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename.startswith(_PACKAGE) or module.partition(".")[0] == "torch"
