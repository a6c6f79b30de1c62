"""The command `elmokit`, also run as `python -m elmokit`. It handles Ctrl-C even while elmokit is being imported."""

from __future__ import annotations

import codecs
import io
import os
import sys


def command() -> int:
    """Run the command line and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        is_utf8 = codecs.lookup(sys.stdout.encoding).name == "utf-8"  # if so, other names are printed byte by byte
        sys.stdout.reconfigure(errors="surrogateescape" if is_utf8 else "backslashreplace")
    try:
        os.getcwd()
    except OSError as error:  # MKL would kill the process if the current folder is gone
        print(f"elmokit: error: the current folder is unusable ({error.strerror}); change to another", file=sys.stderr)
        return 2
    try:
        from elmokit.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("elmokit: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(command())
