"""A run's folder: the names of its files, its config.json, and locks, so that one process at a time writes it."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

from elmokit.files.atomic import remove_leftovers, temporary_folder, write_text
from elmokit.files.json import json_text, read_json
from elmokit.files.locks import lock
from elmokit.files.safetensors import read_layout
from elmokit.system.messages import refuse_link_out, warn_caller

CONFIG_NAME = "config.json"
METRICS_NAME = "metrics.jsonl"
HELD_OUT_NAME = "heldout.txt"
BEST_DIR = "best"
"""Folder of a pretraining run: the model with the lowest perplexity on held-out text."""
WEIGHTS_NAME = "model.safetensors"
STARTING_NAME = ".starting"
"""Marks a folder while a run is being created; `write_config` removes it."""
BILM_FORMAT = "elmokit"
TASK_FORMAT = "elmokit-task"
"""What the field `format` of config.json says."""

_WHAT_IT_IS = {
    BILM_FORMAT: "a biLM; open it with `Elmo.from_pretrained`, or continue its run with `elmokit pretrain --resume`",
    TASK_FORMAT: "a run of `elmokit train`; open it with `load_task`, or continue it with `elmokit train --resume`",
}


@contextmanager
def new_run(run_dir: Path, *, files: Sequence[str] = ()) -> Generator[None]:
    """Hold the lock of a folder that is free for a new run. The folder need not exist yet.

    files: names of the files that the run writes. The user's files with these names are not replaced.

    Raises InUseError, an OSError, when another process uses the folder, OSError when the folder cannot be made or
    written, and ValueError when it already contains a run or one of the files.
    """
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    if os.path.lexists(run_dir) and not run_dir.is_dir():
        raise NotADirectoryError(f"{run_dir} is not a folder; expected a new folder for the run")
    with temporary_folder(run_dir / CONFIG_NAME if run_dir.is_dir() else run_dir, named=run_dir):
        pass  # it can be written
    with lock(run_dir):
        if (run_dir / CONFIG_NAME).exists():
            is_of_task = read_json(run_dir / CONFIG_NAME).get("format") == TASK_FORMAT
            resumed = f"resume it with elmokit {'train' if is_of_task else 'pretrain'} --resume {quote(str(run_dir))}"
            raise ValueError(f"{run_dir} already holds a run; {resumed}, or choose another folder")
        for name in () if (run_dir / STARTING_NAME).exists() else files:
            if (run_dir / name).exists():
                raise ValueError(f"{run_dir} already has {name}, which the run would replace; choose another folder")
        try:
            yield
        except BaseException:
            if not any((run_dir / name).exists() for name in (CONFIG_NAME, *files)):  # as on a full disk
                (run_dir / STARTING_NAME).unlink(missing_ok=True)
            raise


def start_writing(run_dir: Path) -> None:
    """Make the folder of a new run. Until it has a config.json, a marker says that its files belong to the run."""
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / STARTING_NAME).touch()


@contextmanager
def existing_run(run_dir: Path, *, folders: Iterable[str] = ()) -> Generator[None]:
    """Hold the lock of a run that is resumed. First removes what killed processes left in its folder.

    folders: names of the folders that the run writes into. Neither they nor the log may be symlinks that lead out of
        the run. All other files are replaced, even if they are links.
    Raises InUseError, an OSError, when another process uses the folder, FileNotFoundError when it is not a run, and
    FormatError, a ValueError, for such symlinks.
    """
    _check_is_run(run_dir)
    for name in (METRICS_NAME, *folders):
        refuse_link_out(run_dir / name)
    with lock(run_dir):
        remove_leftovers(run_dir)
        (run_dir / STARTING_NAME).unlink(missing_ok=True)  # left by a kill just after config.json was written
        yield


def model_folder(folder: Path) -> Path:
    """The folder of the model at a path: `best/` of a pretraining run, if there is one, else the path itself.

    Warns if the run's training continued after its best step; `RUN/model.safetensors` names the last weights. Raises
    FormatError for a file of weights that cannot be read.
    """
    best = folder / BEST_DIR
    if not ((folder / METRICS_NAME).is_file() and (best / WEIGHTS_NAME).is_file()):
        return folder
    steps = [read_layout(path / WEIGHTS_NAME).metadata.get("step", "unknown") for path in (best, folder)]
    if steps[0] != steps[1]:
        warn_caller(
            f"{folder} is a run: using its best weights, {best} (step {steps[0]}); the last ones (step {steps[1]}) are "
            f"{folder / WEIGHTS_NAME}"
        )
    return best


def _check_is_run(run_dir: Path) -> None:
    if not run_dir.exists():
        raise FileNotFoundError(f"{run_dir} is not a run folder: it does not exist")
    if not (run_dir / CONFIG_NAME).is_file():
        raise FileNotFoundError(
            f"{run_dir} is not a run folder: it has no {CONFIG_NAME}. If a run was stopped here, it had not begun its "
            "first step: start it again with the command that made it"
        )


def write_config(run_dir: Path, values: Mapping[str, object], *, format: str, version: int) -> None:
    """Write config.json atomically. It is written last, so a folder that has one is a complete run.

    Raises FormatError, a ValueError, for a config that is too large to be read back.
    """
    path = run_dir / CONFIG_NAME
    write_text(path, json_text(path, {"format": format, "version": version, **values}))
    (run_dir / STARTING_NAME).unlink(missing_ok=True)


def read_config(run_dir: Path) -> dict[str, Any]:
    """Read what `write_config` wrote. Raises FileNotFoundError if the folder is not a run, ValueError for bad JSON."""
    _check_is_run(run_dir)
    return read_json(run_dir / CONFIG_NAME)


def checked_config(
    config: Mapping[str, Any], *, where: str | Path, format: str, version: int, command: str
) -> dict[str, Any]:
    """The values of a config, without its format and version. Raises ValueError, naming `where`, if these are wrong.

    command: the elmokit command that creates such runs, for errors.
    """
    values = dict(config)
    given = values.pop("format", None)
    if given != format:
        if isinstance(given, str) and given in _WHAT_IT_IS:
            raise ValueError(f"{where} belongs to {_WHAT_IT_IS[given]}")
        raise ValueError(f"{where} is not the config of a run that `elmokit {command}` started")
    found = values.pop("version", None)
    if found != version:
        raise ValueError(f"{where} has version {found}; this elmokit reads version {version}")
    return values
