"""A run's folder: the names of its files, its config.json, and whether the folder is free for a new run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.system.files import atomic_write
from elmokit.system.json_fields import read_json_object

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

CONFIG_NAME = "config.json"
METRICS_NAME = "metrics.jsonl"


def check_is_free(run_dir: Path, *, remains: Iterable[Path] = ()) -> None:
    """ValueError when the folder already holds a run: its config.json, or `remains` that a new run could misread."""
    if (run_dir / CONFIG_NAME).exists() or any(remains):
        raise ValueError(f"{run_dir} already holds a run; resume it with --resume {run_dir}, or choose another folder")


def write_config(run_dir: Path, values: Mapping[str, object], *, format: str, version: int) -> None:
    """Write config.json atomically. It is written last, so a folder that has one is a complete run."""
    record = {"format": format, "version": version, **values}
    with atomic_write(run_dir / CONFIG_NAME) as temporary:
        temporary.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def read_config(
    run_dir: Path, *, format: str, version: int, verb: str, earlier: Mapping[int, Upgrade] | None = None
) -> dict[str, Any]:
    """What `write_config` wrote, without format and version; `verb` is the command that makes such runs, for errors.

    earlier: for each earlier version that is read too, the function that turns its values into today's.

    FileNotFoundError when the folder is not a run; ValueError for another format, a later version, or bad JSON.
    """
    path = run_dir / CONFIG_NAME
    if not path.is_file():
        raise FileNotFoundError(f"{run_dir} is not a run folder: it has no {CONFIG_NAME}")
    return checked_config(
        read_json_object(path), where=path, format=format, version=version, verb=verb, earlier=earlier
    )


def checked_config(
    config: Mapping[str, Any],
    *,
    where: str | Path,
    format: str,
    version: int,
    verb: str,
    earlier: Mapping[int, Upgrade] | None = None,
) -> dict[str, Any]:
    """As `read_config`, of a config that was parsed already; `where` it was is for errors.

    ValueError for another format or a later version.
    """
    values = dict(config)
    if values.pop("format", None) != format:
        raise ValueError(f"{where} is not the config of a run that `elmokit {verb}` started")
    found = values.pop("version", None)
    if earlier and found in earlier:
        try:
            return earlier[found](values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{where} is not what `elmokit {verb}` writes: {error!r}") from error
    if found != version:
        raise ValueError(f"{where} has version {found}; this elmokit reads version {version}")
    return values
