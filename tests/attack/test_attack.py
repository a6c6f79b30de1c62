"""A few attempts of tests/attack/attack.py; every command that writes is among its jobs."""

import sys
from pathlib import Path
from typing import Any

import pytest

from elmokit.cli.main import COMMANDS
from jobs import JOBS, NOT_WRITING

SCRIPT = f"""
import sys
sys.path.append({str(Path(__file__).parent)!r})
from attack import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the disk and the kills are those of Linux")
def test_disturbed_commands_end_whole_or_refused(forks: Any):
    done = forks.run_script(SCRIPT, "kills", "disks", "pairs", "repeats", "--count", "1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_command_that_writes_is_attacked():
    missing = {command.name for command in COMMANDS} - {job.verb for job in JOBS} - set(NOT_WRITING)
    assert missing == set(), "add a job to tests/attack/jobs.py, or name it in NOT_WRITING"
