"""The child process that reads a model of another format: `python -m elmokit.formats.importers`, run by `child.py`."""

from __future__ import annotations

import errno
import importlib
import json
import sys
from pathlib import Path

import msgspec

from elmokit.files.atomic import DISK_FULL
from elmokit.formats.file_kinds import ARCHIVES, PICKLES, kind_of
from elmokit.formats.importers.child import Report, memory_bytes, parts_of, processor_seconds
from elmokit.formats.importers.load import load
from elmokit.formats.inspection import Inspection
from elmokit.formats.native import write_native
from elmokit.system.messages import readable_bytes

if sys.platform != "win32":
    import resource

MAX_OPEN_FILES = 64


def main(size: str, report: str, target: str, *given: str) -> None:
    """The limits follow `size`, the bytes of the files; an empty `target` stands for None."""
    path, *weights = map(Path, given)
    if any(kind_of(part) in (*PICKLES, *ARCHIVES) for part in parts_of(path, *(weights or [None]))):
        importlib.import_module("torch")  # takes seconds, and must not count
    _limit_this_process(int(size))
    found = read(path, *weights, target=Path(target) if target else None, size=int(size))
    values = msgspec.to_builtins(found, enc_hook=str, str_keys=True)
    Path(report).write_bytes(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))  # of names, too


def read(path: Path, weights: Path | None = None, *, target: Path | None, size: int) -> Report:
    """Read a model, and write it into the new folder `target` if that is given."""
    inspection = Inspection(path)
    try:
        model = load(path, weights, inspection=inspection)
        if target is not None:
            write_native(target, model)
    except ValueError as error:
        return Report(inspection, str(error))
    except MemoryError:
        most = readable_bytes(memory_bytes(size))
        reason = f"is damaged, or made to fill the memory: reading it takes more than {most}"
        return Report(inspection, f"{path}: {reason}")
    except OSError as error:
        number = error.errno or (errno.ENOENT if isinstance(error, FileNotFoundError) else errno.EIO)
        filename = error.filename if number in (*DISK_FULL, errno.EACCES) else None
        return Report(inspection, str(error), number, filename)
    return Report(inspection)


def _limit_this_process(num_bytes: int) -> None:
    """Limit memory, processor time and open files; what the process has used so far, to start, does not count."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + processor_seconds(num_bytes),
        resource.RLIMIT_DATA: memory_bytes(num_bytes),
        resource.RLIMIT_NOFILE: MAX_OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main(*sys.argv[1:])
