"""The child process that reads a model of another format: `python -m elmokit.formats.importers`, run by `child.py`."""

from __future__ import annotations

import errno
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from elmokit.files.atomic import DISK_FULL
from elmokit.formats.config_json import fields_of
from elmokit.formats.file_kinds import ARCHIVES, PICKLES, kind_of
from elmokit.formats.importers.child import memory_bytes, parts_of, processor_seconds
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
    Path(report).write_bytes(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))  # names may be anything


def read(path: Path, weights: Path | None = None, *, target: Path | None, size: int) -> dict[str, Any]:
    """Read a model, and write it into the new folder `target` if that is given; returns a `Report` as JSON values."""
    inspection, failure = Inspection(path), dict[str, Any]()
    try:
        model = load(path, weights, inspection=inspection)
        if target is not None:
            write_native(target, model)
    except ValueError as error:
        failure = {"error": str(error)}
    except MemoryError:
        most = readable_bytes(memory_bytes(size))
        failure = {"error": f"{path}: is damaged, or made to fill the memory: reading it takes more than {most}"}
    except OSError as error:
        number = error.errno if error.errno in (*DISK_FULL, errno.EACCES) else None
        said = str(error) if number is None else error.filename
        failure = {"error": said, "error_type": type(error).__name__, "errno": number}
    values = {name: getattr(inspection, name) for name in Inspection.REPORTED}
    values["config"] = None if inspection.config is None else fields_of(inspection.config)
    values["mixes"] = [asdict(mix) for mix in inspection.mixes]
    files = {str(file): size for file, size in inspection.files.items()}
    return {**values, "files": files, **failure}


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
