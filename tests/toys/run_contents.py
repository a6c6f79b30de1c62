"""The files of a run, to be compared with another run: everything except the times."""

import json
from contextlib import suppress
from pathlib import Path

from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType]

NOT_OF_THE_RUN = ("checksum", "commit", "date")
"""They depend on the times, on the checkout, on the day."""


def contents_of_run(run_dir: Path) -> dict[str, object]:
    """What every finished file of the run holds."""
    files = (path for path in run_dir.rglob("[!.]*") if path.is_file())
    return {path.relative_to(run_dir).as_posix(): content_of(path) for path in files}


def content_of(path: Path) -> object:
    """The bytes of a file; records without times; for a checkpoint, only the tensors, because its header has times."""
    if path.name in ("training.json", "metrics.jsonl"):
        with suppress(ValueError):  # if a line is torn
            return [_without_times(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    if path.name == "checkpoint.safetensors":
        return {name: array.tobytes() for name, array in load_file(path).items()}
    return path.read_bytes()


def _without_times(record: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if "second" not in key and key not in NOT_OF_THE_RUN}
