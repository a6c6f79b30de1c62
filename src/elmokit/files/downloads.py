"""Downloading a file from the first of several addresses that has it: resumed by range, complete or not at all.

With `urllib` of the standard library, which knows ranges, redirects and proxies: a model that a browser could fetch
should not need a package that most users lack.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from elmokit.files.atomic import DISK_FULL
from elmokit.system.messages import printable, readable_bytes
from elmokit.system.progress_bar import progress_bar
from elmokit.version import __version__

OFFLINE = ("ELMOKIT_OFFLINE", "HF_HUB_OFFLINE")
"""Environment variables; if one of them is 1, on, yes or true, nothing is downloaded."""
MAX_BYTES = 16 << 30
"""Largest file; far more than any published model has."""
WAITS = (1, 3, 10)
"""Seconds before each further try of an address that failed in a way that may pass, without a byte more."""
TIMEOUT = 30
"""Seconds without a byte after which a connection counts as lost."""
_BLOCK = 1 << 18


class DownloadError(OSError):
    """None of the addresses gave the file; the message says why, for each."""


class _RefusedError(Exception):
    """The address does not have the file, and another try would not change that."""


class _InterruptedError(Exception):
    """The address failed in a way that may pass."""


def is_offline() -> bool:
    """Whether the user has forbidden downloads (`OFFLINE`)."""
    return any(os.environ.get(name, "").lower() in ("1", "on", "yes", "true") for name in OFFLINE)


def download(addresses: Iterable[str], path: Path, *, check: Callable[[Path], str | None]) -> str:
    """Download a file, and return the address that had it; what an earlier process began is continued.

    check: says what is wrong with a file that is complete, or None; one that is wrong is not kept.
    Raises DownloadError with each address and its reason, and OSError if the file cannot be written.
    """
    reasons: list[str] = []
    for address in addresses:
        try:
            _fetch(address, path, check)
            return address
        except (_RefusedError, _InterruptedError) as error:
            reasons.append(f"{address}: {printable(str(error).splitlines()[0])}")
    raise DownloadError("; ".join(reasons))


def _fetch(address: str, path: Path, check: Callable[[Path], str | None]) -> None:
    partial = _Partial(path.with_name(f"{path.name}.partial"), path.with_name(f"{path.name}.partial.json"))
    done, waits = 0, iter(WAITS)
    while True:
        try:
            _receive(address, partial, path.name)
            break
        except _InterruptedError:
            if (now := partial.begun(address)[0]) > done:
                done, waits = now, iter(WAITS)
            if (wait := next(waits, None)) is None:
                raise
            time.sleep(wait)
    if (wrong := check(partial.path)) is not None:
        partial.remove()
        raise _RefusedError(wrong)
    partial.path.replace(path)
    partial.remove()


@dataclass(frozen=True)
class _Partial:
    """A file that is not complete, and a note of what it is a part of."""

    path: Path
    note: Path

    def begun(self, address: str) -> tuple[int, str]:
        """Number of bytes that are there, and the validator of the file that they belong to; (0, "") for none."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(self.note.read_text(encoding="utf-8"))
            if note["address"] == address and note["validator"]:
                return self.path.stat().st_size, str(note["validator"])
        return 0, ""

    def begin(self, address: str, validator: str) -> None:
        self.note.write_text(json.dumps({"address": address, "validator": validator}), encoding="utf-8")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _receive(address: str, partial: _Partial, name: str) -> None:
    """Receive what is missing of the file. Raises _RefusedError or _InterruptedError; what came so far stays."""
    done, validator = partial.begun(address)
    headers = {"User-Agent": f"elmokit/{__version__}", "Accept-Encoding": "identity"}
    if done:
        headers |= {"Range": f"bytes={done}-", "If-Range": validator}
    try:
        opener = build_opener(_SafeRedirects)  # with the proxies of today's environment
        with opener.open(Request(address, headers=headers), timeout=TIMEOUT) as response:
            done = done if response.status == http.client.PARTIAL_CONTENT else 0
            total = _total(response, done)
            if not done:
                partial.begin(address, response.headers.get("ETag") or response.headers.get("Last-Modified") or "")
            with partial.path.open("ab" if done else "wb") as file:
                received = _copy(response, file, done=done, total=total, name=name)
    except HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            if error.headers.get("Content-Range") == f"bytes */{done}":  # nothing is missing
                return
            partial.remove()
            raise _InterruptedError("the file has changed") from error
        kind = _InterruptedError if error.code >= 500 or error.code == http.client.TOO_MANY_REQUESTS else _RefusedError
        raise kind(f"the server answers {error.code} {error.reason}") from error
    except URLError as error:
        # No network, no such host or a wrong certificate do not pass, except where an address has answered before.
        may_pass = done or isinstance(error.reason, ConnectionError | TimeoutError)
        raise (_InterruptedError if may_pass else _RefusedError)(f"cannot be reached: {error.reason}") from error
    except (http.client.HTTPException, OSError) as error:
        if isinstance(error, OSError) and (error.filename is not None or error.errno in DISK_FULL):
            raise OSError(error.errno, error.strerror, error.filename or str(partial.path)) from error
        raise _InterruptedError(f"the connection was lost: {str(error) or type(error).__name__}") from error
    if total is not None and received != total:
        raise _InterruptedError(f"{received:,} of {total:,} bytes came")


def _total(response: Any, done: int) -> int | None:
    """Size of the whole file, as far as the server says it. Raises _RefusedError for what is no file of a model."""
    if response.headers.get_content_type() == "text/html":
        raise _RefusedError("is a web page in place of the file")
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdecimal() else None
    if done and not str(response.headers.get("Content-Range")).startswith(f"bytes {done}-"):
        raise _RefusedError("the server sends another part of the file than the one asked for")
    if total is not None and total > MAX_BYTES:
        raise _RefusedError(f"has {readable_bytes(total)}; expected at most {readable_bytes(MAX_BYTES)}")
    return total


def _copy(response: Any, file: IO[bytes], *, done: int, total: int | None, name: str) -> int:
    """Write what comes; returns the number of bytes that the file has then."""
    with progress_bar(unit="B", scale=True, total=total, done=done, label=name) as bar:
        while block := response.read(_BLOCK):
            done += len(block)
            if done > MAX_BYTES or (total is not None and done > total):
                raise _RefusedError("sends more than it said")
            file.write(block)
            bar.update(len(block))
    return done


class _SafeRedirects(HTTPRedirectHandler):
    """Follows redirects, but not from https to anything else."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        if req.type == "https" and not newurl.startswith("https:"):
            raise _RefusedError(f"leads to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
