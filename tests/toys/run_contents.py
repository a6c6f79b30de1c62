"""What a run left behind, to be compared with another run: everything but the times."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.numpy import load_file  # pyright: ignore[reportUnknownVariableType]

NOT_OF_THE_RUN = ("checksum", "commit", "date")
"""Of the times, of the checkout, of the day."""


def contents_of_run(run_dir: Path) -> dict[str, object]:
    """Every finished file's bytes; records without times, and of a checkpoint, whose header has some, the tensors.

    A checksum of times is left out with them.
    """
    files: dict[str, object] = {}
    for path in (path for path in run_dir.rglob("[!.]*") if path.is_file()):
        content: object = path.read_bytes()
        if path.name in ("training.json", "metrics.jsonl"):
            content = [_without_times(json.loads(line)) for line in path.read_text().splitlines()]
        elif path.name == "checkpoint.safetensors":
            content = {name: array.tobytes() for name, array in load_file(path).items()}
        files[path.relative_to(run_dir).as_posix()] = content
    return files


def _without_times(record: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in record.items() if "second" not in key and key not in NOT_OF_THE_RUN}
