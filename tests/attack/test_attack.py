"""A few attempts of tests/attack/attack.py; every command that writes is among its jobs."""

import sys
from pathlib import Path

import pytest

from elmokit.cli.main import COMMANDS
from jobs import JOBS, NOT_WRITING
from unmeasured import run_python


@pytest.mark.slow
@pytest.mark.parametrize(("attacks", "count"), [(["disks", "kills"], 4), (["pairs", "repeats"], 2)])
@pytest.mark.skipif(sys.platform != "linux", reason="the disk and the kills are those of Linux")
def test_disturbed_commands_end_whole_or_refused(attacks: list[str], count: int):
    run_python(str(Path(__file__).with_name("attack.py")), *attacks, "--count", str(count))


def test_every_command_that_writes_is_attacked():
    missing = {command.name for command in COMMANDS} - {job.verb for job in JOBS} - set(NOT_WRITING)
    assert missing == set(), "add a job to tests/attack/jobs.py, or name it in NOT_WRITING"
