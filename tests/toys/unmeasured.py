"""Processes that nothing measures: coverage would load modules and take half of the time."""

import os
import subprocess
import sys


def run_python(*arguments: str) -> str:
    """Standard output of a Python that coverage does not start in. Fails with all that it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
