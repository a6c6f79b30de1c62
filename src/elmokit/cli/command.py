"""The command `elmokit`: it answers Ctrl-C from the first moment, while its own files are still being imported."""

from __future__ import annotations

import sys

from elmokit.cli.exit_codes import INTERRUPTED


def command() -> int:
    """Run the verb of the command line, and return the exit code."""
    try:
        from elmokit.cli.main import main

        return main()
    except KeyboardInterrupt:
        print("elmokit: interrupted", file=sys.stderr)
        return INTERRUPTED
