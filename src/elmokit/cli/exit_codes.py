"""Exit codes of the command `elmokit`, besides 0: done.

1: `doctor` or `inspect` found something wrong, or `report` left runs out.
"""

REFUSED = 2
"""Wrong arguments, files that are not what they should be, or a device that is missing or too small."""
INTERRUPTED = 130  # 128 + SIGINT, as the shell reports it
BROKEN_PIPE = 141  # 128 + SIGPIPE, as the shell reports a reader that went away
