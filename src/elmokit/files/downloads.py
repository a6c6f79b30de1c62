"""Download a file, completely or not at all, from the first of several addresses that has it, with `urllib`."""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Callable, Iterable
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
"""Largest size of a file, far above that of any published model."""
WAITS = (1, 3, 10)
"""Seconds to wait before each retry, after a failure that may be temporary."""
TIMEOUT = 30
"""A connection counts as lost after this many seconds without a byte."""
_BLOCK = 1 << 18


class DownloadError(OSError):
    """No address provided the file. The message gives the reason for each address."""


class _RefusedError(Exception):
    """The address does not provide the file, and a retry would not help."""


class _InterruptedError(_RefusedError):
    """The address failed, perhaps only for the moment."""


def is_offline() -> bool:
    """Whether the user has forbidden downloads (`OFFLINE`)."""
    return any(os.environ.get(name, "").lower() in ("1", "on", "yes", "true") for name in OFFLINE)


def download(addresses: Iterable[str], path: Path, *, check: Callable[[Path], str | None]) -> str:
    """Download a file, and return the address that had it.

    check: reads the complete file and returns a message about its fault, or None. A wrong file is not kept.
    Raises DownloadError with each address and its reason, and OSError if the file cannot be written.
    """
    partial = path.with_name(f"{path.name}.partial")
    reasons: list[str] = []
    try:
        for address in addresses:
            try:
                _fetch(address, partial, path.name)
                if (wrong := check(partial)) is not None:
                    raise _RefusedError(wrong)
                partial.replace(path)
                return address
            except _RefusedError as error:
                reasons.append(f"{address}: {printable(str(error).splitlines()[0])}")
    finally:
        partial.unlink(missing_ok=True)
    raise DownloadError("; ".join(reasons))


def _fetch(address: str, partial: Path, name: str) -> None:
    """Receive the file. After a lost connection, continue where it broke off."""
    done = 0
    for wait in (*WAITS, None):
        try:
            _receive(address, partial, name, done=done)
            break
        except _InterruptedError:
            if wait is None:
                raise
            done = partial.stat().st_size if partial.exists() else 0
            time.sleep(wait)


def _receive(address: str, partial: Path, name: str, *, done: int) -> None:
    headers = {"User-Agent": f"elmokit/{__version__}", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
    try:
        opener = build_opener(_SafeRedirects)  # with the proxies that are in the environment now
        with opener.open(Request(address, headers=headers), timeout=TIMEOUT) as response:
            done = done if response.status == http.client.PARTIAL_CONTENT else 0
            length = response.headers.get("Content-Length", "")
            total = done + int(length) if length.isdecimal() else None
            with partial.open("ab" if done else "wb") as file:
                received = _copy(response, file, done=done, total=total, name=name)
    except HTTPError as error:
        kind = _InterruptedError if error.code >= 500 or error.code == http.client.TOO_MANY_REQUESTS else _RefusedError
        raise kind(f"the server answered {error.code} {error.reason}") from error
    except URLError as error:  # before the first byte, a missing network or host or a bad certificate is final
        may_pass = done or isinstance(error.reason, ConnectionError | TimeoutError)
        raise (_InterruptedError if may_pass else _RefusedError)(f"cannot be reached: {error.reason}") from error
    except (http.client.HTTPException, OSError) as error:
        if isinstance(error, OSError) and (error.filename is not None or error.errno in DISK_FULL):
            raise OSError(error.errno, error.strerror, error.filename or str(partial)) from error
        raise _InterruptedError(f"the connection was lost: {str(error) or type(error).__name__}") from error
    if total is not None and received != total:
        raise _InterruptedError(f"only {received:,} of {total:,} bytes arrived")


def _copy(response: Any, file: IO[bytes], *, done: int, total: int | None, name: str) -> int:
    """Write what arrives, and return the number of bytes in the file at the end."""
    if total is not None and total > MAX_BYTES:
        raise _RefusedError(f"has {readable_bytes(total)}; expected at most {readable_bytes(MAX_BYTES)}")
    with progress_bar(unit="B", scale=True, total=total, done=done, label=name) as bar:
        while block := response.read(_BLOCK):
            done += len(block)
            if done > MAX_BYTES:
                raise _RefusedError(f"sends more than {readable_bytes(MAX_BYTES)}")
            file.write(block)
            bar.update(len(block))
    return done


class _SafeRedirects(HTTPRedirectHandler):
    """Follows redirects, but not from https to anything else."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Request | None:
        if req.type == "https" and not newurl.startswith("https:"):
            raise _RefusedError(f"leads to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)
