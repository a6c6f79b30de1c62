"""`elmokit` commands in forked children, which can be killed at a chosen moment.

The process that forks has imported torch and computed nothing, so a command costs little more than its own work.
"""

import mmap
import os
import resource
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from elmokit.cli.main import main as elmokit

LONGEST_SECONDS = 600
"""A command that takes longer counts as hanging, and is ended (SIGALRM)."""
_CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod", "os.truncate"}


@dataclass(frozen=True)
class Kill:
    """When a child dies. Operations are changes that Python makes to files: opening to write, renaming, syncing, ..."""

    operation: int = 0
    """SIGKILL before this operation, counted from 1."""
    file_bytes: int | None = None
    """Instead of SIGKILL: from that operation on, no file may grow beyond this many bytes. The kernel ends the child
    (SIGXFSZ) in the middle of the write that exceeds the limit."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    """Its exit code, or the negative number of the signal that ended it."""
    said: str
    num_operations: int

    @property
    def killed(self) -> bool:
        """Whether a `Kill` ended it."""
        return self.code in (-signal.SIGKILL, -signal.SIGXFSZ)

    @property
    def last_line(self) -> str:
        return (self.said.splitlines() or [""])[-1]


class Command:
    """A command that a child runs now, in a folder."""

    def __init__(
        self, words: Sequence[str], folder: Path, *, kill: Kill | None = None, stdin: str = os.devnull
    ) -> None:
        self._counted = mmap.mmap(-1, 8)  # shared with the child, so that the count survives a kill
        self._pipe, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._pipe)
            _be_child(words, folder, kill or Kill(), memoryview(self._counted).cast("Q"), writing, stdin)
        os.close(writing)

    def wait(self) -> Ended:
        """Wait for its end."""
        with os.fdopen(self._pipe, "rb") as pipe:
            said = pipe.read().decode(errors="replace")
        code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return Ended(code, said, num_operations=memoryview(self._counted).cast("Q")[0])


def _be_child(words: Sequence[str], folder: Path, kill: Kill, counted: memoryview, pipe: int, stdin: str) -> NoReturn:
    code = 70
    try:
        os.chdir(folder)
        for descriptor in (1, 2):
            os.dup2(pipe, descriptor)
        os.close(pipe)
        os.dup2(os.open(stdin, os.O_RDONLY), 0)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode) for number, mode in enumerate("rww"))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(LONGEST_SECONDS)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kill.file_bytes is not None else signal.SIG_IGN)
        _count_operations(kill, counted)
        code = elmokit(list(words))
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _count_operations(kill: Kill, counted: memoryview) -> None:
    """Count this process's operations from now on, and make it die at the chosen one."""

    def count() -> None:
        counted[0] += 1
        if counted[0] == kill.operation:
            if kill.file_bytes is None:
                os.kill(os.getpid(), signal.SIGKILL)
            else:
                resource.setrlimit(resource.RLIMIT_FSIZE, (kill.file_bytes, kill.file_bytes))

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        flags = arguments[2] if event == "open" else 0
        if event in _CHANGES or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
            count()

    def fsync(file: int) -> None:
        count()
        real_fsync(file)

    real_fsync, os.fsync = os.fsync, fsync
    sys.addaudithook(audit)
