"""`python -m elmokit` is the command `elmokit`."""

import sys

from elmokit.cli.command import command

if __name__ == "__main__":
    sys.exit(command())
