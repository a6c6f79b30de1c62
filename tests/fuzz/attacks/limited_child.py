"""Calls in forked children with limits on memory and time: what a call does to its process is an outcome, not an end.

The process that forks has imported torch and the package, so a call costs little more than its own work. A child runs
one call after the other; when one of them kills it, the next one has a new child.
"""

import multiprocessing
import os
import re
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path

from attacks.outcome import Outcome
from elmokit.layers.devices import is_about_devices

SECONDS = 10.0
"""CPU time that one call may take."""
ADDRESS_SPACE = 1 << 30
"""Bytes in addition to what the process has; beyond it, allocations fail."""
CALLS_PER_CHILD = 200
"""After so many calls a child is replaced, so that what libraries leave behind does not add up."""
MOST_PATIENCE = 12
"""How many times the limit a call may take of wall-clock time, as it waits for the processor on a busy machine."""
_FORK = multiprocessing.get_context("fork")
MOST_SAID = 1000
"""Characters of a refusal: of what a file holds, it quotes a token."""


@dataclass(frozen=True)
class Ending:
    """How a call ended."""

    outcome: Outcome
    said: str = ""
    """The error, in one line; of a traceback with the place."""
    memory: int = 0
    """Bytes of memory that the call took at most, in addition to what its process had."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Call:
    """What a child runs: `prepare` freely, then `run` within the limits."""

    run: Callable[[], object]
    """Returns, raises ValueError, OSError or `RefusedError` (a refusal), `WrongError`, or anything else."""
    prepare: Callable[[], object] = lambda: None


class RefusedError(Exception):
    """Raised by a call that has found out by itself that something was refused as it should be."""


class WrongError(Exception):
    """Raised by a call that has found a result that is not what it should be."""


def run_limited(calls: Iterable[Call], *, seconds: float = SECONDS) -> Iterator[Ending]:
    """Run each call in a child, and yield how it ended, in order."""
    calls, waiting = iter(calls), list[Call]()
    while waiting := waiting or list(islice(calls, CALLS_PER_CHILD)):
        for ending in _one_child(waiting, seconds):
            waiting = waiting[1:]
            yield ending


def _one_child(calls: Sequence[Call], seconds: float) -> Iterator[Ending]:
    """Endings of the calls up to the first one that kills the child."""
    reader, writer = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_be_child, args=(calls, seconds, writer))
    child.start()
    writer.close()
    try:
        for _ in calls:
            if not reader.poll(MOST_PATIENCE * seconds):
                yield Ending(Outcome.HANG, seconds=seconds)
                return
            try:
                ending = reader.recv()
            except EOFError:
                child.join()
                name = signal.Signals(-(child.exitcode or 0)).name
                yield Ending(Outcome.HANG if name == "SIGXCPU" else Outcome.CRASH, name)
                return
            if isinstance(ending, str):
                raise RuntimeError(f"an attack failed, not what it attacks: {ending}")
            yield ending
    finally:
        child.kill()
        child.join()


def _be_child(calls: Sequence[Call], seconds: float, writer: Connection) -> None:
    """Run the calls, and send how each ended. Does not return."""
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        most = own_memory("VmSize") + ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for call in calls:
            hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time() + seconds) + 1, hard))
            writer.send(_run(call))
    except BaseException:
        writer.send(traceback.format_exc())
    finally:
        os._exit(0)


def _run(call: Call) -> Ending:
    call.prepare()
    with suppress(OSError):  # where it is forbidden to forget the peak so far, peaks are those of the whole child
        Path("/proc/self/clear_refs").write_text("5")
    before, began = own_memory("VmRSS"), time.monotonic()
    outcome, said = _outcome(call)
    return Ending(outcome, said[:400], own_memory("VmHWM") - before, time.monotonic() - began)


def _outcome(call: Call) -> tuple[Outcome, str]:
    try:
        call.run()
    except MemoryError as error:
        return Outcome.MEMORY, _place(error)
    except WrongError as error:
        return Outcome.WRONG, str(error)
    except (RefusedError, ValueError, OSError) as error:
        said = f"{type(error).__name__}: {error}"
        if len(said) > MOST_SAID:
            return Outcome.WRONG, f"a refusal of {len(said):,} characters: {said}"
        return Outcome.REFUSED, said
    except BaseException as error:
        refused = isinstance(error, RuntimeError) and is_about_devices(error)
        return (Outcome.REFUSED, str(error)) if refused else (Outcome.TRACEBACK, _place(error))
    return Outcome.OK, ""


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-3:]]
    return f"{type(error).__name__}: {str(error)[:150]} ({' > '.join(places)})"


def own_memory(field: str) -> int:
    """Bytes that this process has, by the name that the kernel gives them."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
