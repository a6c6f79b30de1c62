"""The record of a pretraining run: its config.json. Needs no torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elmokit.files.json import as_type
from elmokit.formats.native import VERSION
from elmokit.pretraining.config import PretrainingConfig
from elmokit.runs.folder import BILM_FORMAT, CONFIG_NAME, checked_config, read_config, write_config

_EARLIER_FIELDS = ("shard_sha256", "vocabulary_sha256")
"""Fields of config.json that earlier versions wrote."""


@dataclass(frozen=True)
class Change:
    """The settings that one `--resume --set` changed, with their old and new values."""

    step: int
    """Number of steps that the run had made."""
    num_tokens: int
    """Number of corpus tokens that it had read."""
    before: dict[str, Any]
    after: dict[str, Any]

    def __str__(self) -> str:
        """Step and settings, such as `step 1,000: num_steps 2000 -> 3000`."""
        settings = ", ".join(f"{name} {self.before.get(name)} -> {value}" for name, value in self.after.items())
        return f"step {self.step:,}: {settings}"


@dataclass(frozen=True)
class TextSize:
    """The amount of text in all shards."""

    num_sentences: int
    num_tokens: int

    def steps_per_pass(self, config: PretrainingConfig) -> float:
        """Number of steps to read the text once. A sentence of n tokens has n + 1 predictions."""
        return (self.num_tokens + self.num_sentences) / config.tokens_per_step

    def times(self, config: PretrainingConfig) -> str:
        """How often a complete run reads the text, such as `5.6 times`."""
        passes = config.num_steps / self.steps_per_pass(config)
        return f"{passes:,.{0 if passes >= 10 else 1}f} times"


@dataclass(frozen=True)
class RunRecord:
    """A run's record in config.json: the resolved settings, and the other fields under their own names."""

    config: PretrainingConfig
    shards: tuple[str, ...]
    """Absolute paths of the text."""
    shard_bytes: tuple[int, ...] = ()
    """Sizes of these files when the run started; empty in the folders of earlier versions."""
    text: TextSize | None = None
    """The amount of text in them; None in the folders of earlier versions."""
    unknown_share: float | None = None
    """Share of unknown tokens in the held-out text."""
    started_from: str | None = None
    """Model that a fine-tuning run started from; None for random weights."""
    changes: tuple[Change, ...] = ()
    """Settings that were changed during the run. `config` has the newest values."""

    def changed(self, config: PretrainingConfig, *, step: int, num_tokens: int) -> RunRecord:
        """The record of a run that continues with another config after this many steps and tokens."""
        before, after = self.config.to_json(), config.to_json()
        names = [name for name in before if before[name] != after[name]]
        values = ({name: record[name] for name in names} for record in (before, after))
        change = Change(step, num_tokens, *values)
        return replace(self, config=config, changes=(*self.changes, change) if names else self.changes)


def write_record(run_dir: Path, record: RunRecord) -> None:
    """Write the record as the run's config.json. Raises FormatError for more shards than it can list."""
    settings, others = record.config.to_json(), dataclasses.asdict(record)
    del others["config"]
    known = {name: value for name, value in others.items() if value not in (None, ()) or name == "shards"}
    values = {"bilm": settings.pop("bilm"), "pretraining": settings | known}
    write_config(run_dir, values, format=BILM_FORMAT, version=VERSION)


def read_record(run_dir: Path) -> RunRecord:
    """Read the record of a run.

    Raises FileNotFoundError if the folder is not a run, and ValueError for a model that elmokit did not pretrain.
    """
    return record_of(read_config(run_dir), run_dir / CONFIG_NAME)


def record_of(config: Mapping[str, Any], where: str | Path) -> RunRecord:
    """The record in a parsed config.json. Raises ValueError, naming `where`, as `read_record` does."""
    both = checked_config(config, where=where, format=BILM_FORMAT, version=VERSION, command="pretrain")
    run = as_type(both.get("pretraining") or {}, dict[str, Any], where=where, part="pretraining")
    if "shards" not in run:
        raise ValueError(f"{where} describes a model, not a pretraining run; there is nothing to resume")
    run = {name: value for name, value in run.items() if name not in _EARLIER_FIELDS}
    names = {entry.name for entry in dataclasses.fields(RunRecord)}
    settings = {name: value for name, value in run.items() if name not in names}
    known = {name: value for name, value in run.items() if name in names}
    values = known | {"config": settings | {"bilm": both.get("bilm")}}
    return as_type(values, RunRecord, where=where, part="pretraining")
