from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

import shape_checks

shape_checks.install()  # before the fixtures below import elmokit

pytest_plugins = ["toy_task"]

# The same examples on every run, and no failure because the machine was busy.
settings.register_profile("elmokit", deadline=None, derandomize=True)
settings.load_profile("elmokit")

# Runs commands one after the other, each in a fork of a process that has imported torch and computed nothing.
FORKS = """
import json, os, sys
import torch._dynamo  # which a first optimiser imports
import elmokit.pretraining.train
import elmokit.tasks.train
from elmokit.cli.main import main

for command in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.dup2(2, 1)
        os._exit(main(json.loads(command)))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
os._exit(0)
"""


class Forks:
    """`elmokit` commands; `start` one, kill it if that is what it is for, and `wait` for its exit code."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self.server = server

    def start(self, *command: object) -> int:
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps([str(word) for word in command]) + "\n")
        self.server.stdin.flush()
        return self._answer()

    def wait(self) -> int:
        return self._answer()

    def _answer(self) -> int:
        assert self.server.stdout is not None
        return int(self.server.stdout.readline())


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kill-seed", type=int, help="seed of the moments at which runs are killed; a failure names its own"
    )


@pytest.fixture
def kill_seed(pytestconfig: pytest.Config) -> int:
    """Another one in every session, unless `--kill-seed` repeats one."""
    given = pytestconfig.getoption("--kill-seed")
    return secrets.randbits(32) if given is None else given


@pytest.fixture
def forks() -> Iterator[Forks]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FORKS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as server:  # ends with its input
        yield Forks(server)
