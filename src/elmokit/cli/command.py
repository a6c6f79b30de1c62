"""The command `elmokit`: it answers Ctrl-C from the first moment, while its own files are still being imported."""

from __future__ import annotations

import io
import sys

from elmokit.cli.exit_codes import INTERRUPTED


def command() -> int:
    """Run the verb of the command line, and return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="surrogateescape")  # names of files that are not UTF-8 are printed byte by byte
    try:
        from elmokit.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("elmokit: interrupted", file=sys.stderr)
        return INTERRUPTED
