"""Reads models of other formats in a child process, with limits on its memory, processor time and open files.

The libraries that parse these files (HDF5, zip, pickles of tensors) may crash or hang on a malicious file. If that
happens in the child, the parent refuses the file. The child writes a native folder, which the parent reads as usual.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from elmokit.files.json import read_json
from elmokit.formats.file_kinds import ARCHIVES, MAX_FILES, kind_of
from elmokit.formats.inspection import Inspection
from elmokit.system.messages import FormatError

SECONDS, BYTES_PER_SECOND = 5, 8 << 20
"""Limit on processor time: a fixed part, plus a second per so many bytes. The paper's model takes 3 seconds."""
MEMORY, MEMORY_PER_BYTE = 2 << 30, 12
"""Limit on memory in bytes: a fixed part, plus so many for each byte of the files."""
MAX_COUNTED_BYTES = 8 << 30
_START = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from elmokit.formats.importers.load import main
main(*sys.argv[2:])
"""
"""The child finds the parent's modules in the parent's order, whatever PYTHONPATH says."""


@dataclass(frozen=True)
class Report:
    """The child's report: its findings about the files, and the error, if there was one."""

    inspection: Inspection
    error: str | None = None
    errno: int | None = None
    """Set for an error of the operating system."""
    filename: str | None = None
    """Set if the disk cannot be written to."""


def import_model(path: Path, weights: Path | None, target: Path) -> Inspection:
    """Write the model in these files into a new native folder, and return a description of the files.

    Raises FormatError if the files are not a model, or if reading them crashes or exceeds a limit. Raises OSError if
    the files cannot be read or the folder cannot be written.
    """
    report = run(path, weights, target)
    if report.filename is not None and report.errno is not None:
        raise OSError(report.errno, os.strerror(report.errno), report.filename)
    if report.errno is not None:
        kind = type(OSError(report.errno, ""))  # FileNotFoundError for ENOENT, and so on
        raise kind(report.error)
    if report.error is not None:
        where, _, reason = report.error.partition(": ")
        raise FormatError(where, reason)
    return report.inspection


def inspect_files(path: Path, weights: Path | None) -> Inspection:
    """Read the files of a model in a child process, and describe them. An error becomes a refusal."""
    report = run(path, weights, None)
    report.inspection.refusals += [] if report.error is None else [report.error]
    return report.inspection


def run(path: Path, weights: Path | None, target: Path | None) -> Report:
    """Run the child to its end."""
    sizes = (part.stat().st_size for part in parts_of(path, weights) if part.is_file())
    num_bytes = min(sum(sizes), MAX_COUNTED_BYTES)
    with tempfile.TemporaryDirectory(prefix="elmokit-", ignore_cleanup_errors=True) as folder:
        written = Path(folder, "report.json")
        given = [str(num_bytes), str(written), str(target or ""), str(path)]
        given += [] if weights is None else [str(weights)]
        places = json.dumps([place for place in sys.path if place])
        command = [sys.executable, "-P", "-c", _START, places, *given]
        try:
            done = subprocess.run(
                command,
                # however the child ends, its unpacked files are removed
                env=os.environ | {"OMP_NUM_THREADS": "1", "TMPDIR": folder},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=60 + 20 * processor_seconds(num_bytes),  # for Windows, which cannot limit the processor time
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Report(
                Inspection(path), f"{path}: is damaged, or made to keep its reader busy: reading it does not end"
            )
        if not written.is_file():
            return Report(Inspection(path), f"{path}: {_death(done, num_bytes)}")
        report = read_json(written, Report)
        files = report.inspection.files  # msgspec leaves keys of objects as they are
        report.inspection.files = {Path(file): size for file, size in files.items()}
        return report


def _death(done: subprocess.CompletedProcess[bytes], num_bytes: int) -> str:
    """What is wrong with files whose reader ended without a report."""
    if done.returncode >= 0:
        last_words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"is damaged, or made to crash its reader: {last_words[-1] if last_words else 'no reason given'}"
    name = signal.Signals(-done.returncode).name
    if name == "SIGXCPU":
        most = f"{processor_seconds(num_bytes)} seconds of processor time"
        return f"is damaged, or made to keep its reader busy: reading it takes more than {most}"
    return f"is damaged, or made to crash its reader, which ended with {name}"


def parts_of(path: Path, weights: Path | None) -> list[Path]:
    """The named files. For a folder or a single file, all files in the folder: other parts may be next to it."""
    if weights is not None:
        return [path, weights]
    if path.is_file() and kind_of(path) in ARCHIVES:
        return [path]
    folder = path if path.is_dir() else path.parent
    found = sorted(file for file in (*folder.iterdir(), *folder.glob("fta/*")) if file.is_file())
    if len(found) > MAX_FILES:
        return [path] if path.is_file() else []
    return found


def memory_bytes(num_bytes: int) -> int:
    """The limit on memory for files of this size."""
    return MEMORY + MEMORY_PER_BYTE * num_bytes


def processor_seconds(num_bytes: int) -> int:
    """The limit on processor time for files of this size."""
    return SECONDS + num_bytes // BYTES_PER_SECOND
