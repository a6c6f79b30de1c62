"""Serves the explorer's files on this machine only (127.0.0.1). It only reads files, and computes nothing."""

from __future__ import annotations

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, BinaryIO

from elmokit.web.explore.site import CONTENT_SECURITY_POLICY

if TYPE_CHECKING:
    import os

HOST = "127.0.0.1"
LAST_PORT = 65535


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection serves many files

    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """The type of a file. For scripts it does not depend on the machine, because browsers insist on it."""
        return "text/javascript" if str(path).endswith(".js") else super().guess_type(path)

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", f"{CONTENT_SECURITY_POLICY}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def parse_request(self) -> bool:
        """Refuse requests that name another host: a page elsewhere could otherwise read this one's files."""
        if not super().parse_request():
            return False
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        if host in (HOST, "localhost"):
            return True
        self.send_error(403, "This server answers on 127.0.0.1 only")
        return False

    def send_head(self) -> BytesIO | BinaryIO | None:
        """Treat a name that no file can have, such as one with a NUL in it, as the name of a missing file."""
        try:
            return super().send_head()
        except ValueError:
            self.send_error(404, "File not found")
            return None

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Print the error of a request, unless the browser closed the page before it had the file."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(folder: Path, *, port: int = 0) -> ThreadingHTTPServer:
    """A server of the folder's files on 127.0.0.1; `serve_forever()` runs it. Port 0 means any free port.

    The folder need not exist yet. Raises ValueError for a number that is not a port, and OSError if the port is taken.
    """
    if not 0 <= port <= LAST_PORT:
        raise ValueError(f"port {port}; expected 1 to {LAST_PORT}, or 0 for any free one")
    try:
        return _Server((HOST, port), partial(_Handler, directory=str(folder)))
    except OSError as error:
        raise OSError(f"port {port}: {error.strerror or error}; choose another one, or 0 for any free one") from error


def address(server: ThreadingHTTPServer) -> str:
    """The address of the page."""
    return f"http://{HOST}:{server.server_address[1]}/"
