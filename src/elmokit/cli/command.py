"""The command `elmokit`: it answers Ctrl-C from the first moment, while its own files are still being imported."""

from __future__ import annotations

import codecs
import io
import os
import sys

from elmokit.cli.exit_codes import INTERRUPTED, REFUSED


def command() -> int:
    """Run the verb of the command line, and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        is_utf8 = codecs.lookup(sys.stdout.encoding).name == "utf-8"  # then names that are not are printed byte by byte
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")
    try:
        os.getcwd()
    except OSError as error:  # MKL ends the process if it finds no folder
        print(f"elmokit: error: the current folder: {error.strerror}; change to another one", file=sys.stderr)
        return REFUSED
    try:
        from elmokit.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("elmokit: interrupted", file=sys.stderr)
        return INTERRUPTED
