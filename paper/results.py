"""What reproductions measure, kept as lines of JSON: `results.jsonl`, one record for each system or text measured.

A record has the name of its reproduction, what was measured, and where it comes from: version, commit, machine, date.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elmokit.files.json_fields import Fields
from elmokit.layers.devices import describe_machine, find_device
from elmokit.metrics.statistics import Interval
from elmokit.runs.metrics_log import append_json_line, keep_records, provenance, read_log

RESULTS_NAME = "results.jsonl"
FIELD = "reproduction"


def append_result(folder: Path, reproduction: str, values: Mapping[str, Any]) -> None:
    """Add a record to the `results.jsonl` of a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    machine = describe_machine(find_device(None))
    path = folder / RESULTS_NAME
    if path.exists() and not path.read_bytes().endswith(b"\n"):  # killed while it was written
        keep_records(path, lambda _: True)
    append_json_line(path, {FIELD: reproduction, **values, **provenance(), "machine": machine})


def read_results(paths: Sequence[Path], reproduction: str) -> list[Fields]:
    """The records of a reproduction, as fields that name their file and line in errors.

    paths: files of records, or folders that have a `results.jsonl`, themselves or in the folders in them; other paths
        have no records. Raises ValueError for a file that is not lines of JSON objects.
    """
    found: list[Fields] = []
    for file in {file.resolve(): file for path in paths for file in _result_files(path)}.values():
        records = read_log(file).fields()
        found += [record for record in records if FIELD in record and record.value(FIELD) == reproduction]
    return found


def newest(records: Sequence[Fields], *names: str) -> list[Fields]:
    """The records in their order, one for those that agree in these fields: that of the latest date."""
    found: dict[tuple[str, ...], Fields] = {}
    for record in records:
        key = tuple(str(record.value(name)) for name in names)
        if key not in found or found[key].text("date") <= record.text("date"):
            found[key] = record
    return list(found.values())


def read_interval(fields: Fields, name: str = "interval") -> Interval:
    """An interval in a field, as `dataclasses.asdict` has kept it."""
    within = fields.fields(name)
    return Interval(*(within.number(each, least=-math.inf) for each in ("estimate", "low", "high")))


def _result_files(path: Path) -> list[Path]:
    """The files of records at a path: itself, or a folder's own `results.jsonl` and those of the folders in it."""
    if path.is_dir():
        return [file for file in (path / RESULTS_NAME, *sorted(path.glob(f"*/{RESULTS_NAME}"))) if file.is_file()]
    return [path] if path.name.endswith(RESULTS_NAME) and path.is_file() else []
