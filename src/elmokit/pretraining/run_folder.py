"""The folder of a pretraining run: config.json with the resolved settings, vocabulary, held-out sentences, card, log.

The settings that were changed while the run was under way stand in its config.json and its card.

The folder is also a model in the native format as soon as the run has a checkpoint.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elmokit.files.atomic import check_names, write_text
from elmokit.files.digests import file_digest
from elmokit.files.json_fields import Fields, types_of
from elmokit.files.safetensors import read_layout
from elmokit.formats.config_json import config_of
from elmokit.formats.native import CARD_NAME, VERSION, VOCABULARY_NAME, WEIGHTS_NAME
from elmokit.pretraining.config import PretrainingConfig
from elmokit.runs.folder import (
    BEST_DIR,
    BILM_FORMAT,
    CONFIG_NAME,
    HELD_OUT_NAME,
    checked_config,
    read_config,
    write_config,
)
from elmokit.system.markdown import escape_markdown
from elmokit.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Change:
    """The settings that one `--resume --set` changed, with their old and new values."""

    step: int
    """Number of steps that the run had made."""
    num_tokens: int
    """Number of corpus tokens that it had read."""
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.before.keys() != self.after.keys():
            raise ValueError("before has other settings than after")

    def __str__(self) -> str:
        """Step and settings, such as `step 1,000: num_steps 2000 -> 3000`."""
        settings = ", ".join(f"{name} {self.before[name]} -> {value}" for name, value in self.after.items())
        return f"step {self.step:,}: {settings}"


@dataclass(frozen=True)
class TextSize:
    """How much text there is in all shards."""

    num_sentences: int
    num_tokens: int

    def steps_per_pass(self, config: PretrainingConfig) -> float:
        """Steps in which a run reads the text once; a sentence of n tokens has n + 1 predictions."""
        return (self.num_tokens + self.num_sentences) / config.tokens_per_step

    def times(self, config: PretrainingConfig) -> str:
        """How often a run of all its steps reads the text, such as `5.6 times`."""
        passes = config.num_steps / self.steps_per_pass(config)
        return f"{passes:,.{0 if passes >= 10 else 1}f} times"


@dataclass(frozen=True)
class RunRecord:
    """What config.json says about a run, next to the resolved settings under the names of these fields."""

    config: PretrainingConfig
    shards: list[Path]
    shard_bytes: tuple[int, ...] = ()
    """Sizes of these files when the run started; empty in the folders of earlier versions."""
    shard_sha256: tuple[str, ...] = ()
    """Their digests (hex) at that time; empty in the folders of earlier versions."""
    text: TextSize | None = None
    """How much text they have; None in the folders of earlier versions."""
    started_from: str | None = None
    """Model that a fine-tuning run started from; None for random weights."""
    changes: tuple[Change, ...] = ()
    """Settings that were changed under way, in the order of their steps; `config` has the newest values."""
    vocabulary_sha256: str = ""
    """Digest (hex) of the run's vocabulary.txt; empty in the folders of earlier versions."""


def create_run(run_dir: Path, record: RunRecord, vocabulary: Vocabulary, held_out: Sequence[str]) -> None:
    """Write what a run knows before its first step into the folder that `start_writing` has made; config.json last."""
    vocabulary.write(run_dir / VOCABULARY_NAME)
    write_text(run_dir / CARD_NAME, _card(run_dir.name, record, len(vocabulary)))
    (run_dir / HELD_OUT_NAME).unlink(missing_ok=True)  # left by a start that was cut short
    if held_out:
        write_text(run_dir / HELD_OUT_NAME, "".join(f"{sentence}\n" for sentence in held_out))
    digest = file_digest(run_dir / VOCABULARY_NAME, "sha256").hex()
    write_record(run_dir, replace(record, vocabulary_sha256=digest))


def change_record(run_dir: Path, old: RunRecord, new: RunRecord, *, num_tokens_in_vocabulary: int) -> None:
    """Write a changed record, and the card that goes with it, unless somebody has written another card.

    Raises ValueError, before anything is written, for names that are not UTF-8, and as `write_record` does.
    """
    check_names(run_dir.name, *new.shards)
    card = run_dir / CARD_NAME
    before = _card(run_dir.name, old, num_tokens_in_vocabulary)
    write_record(run_dir, new)
    # a copy of the folder has another name, in the heading
    if card.is_file() and card.read_text("utf-8", "replace").partition("\n")[2] == before.partition("\n")[2]:
        write_text(card, _card(run_dir.name, new, num_tokens_in_vocabulary))


def best_step(run_dir: Path) -> int | None:
    """The step of the weights in the folder `best`; None if there are none that can be read."""
    try:
        return int(read_layout(run_dir / BEST_DIR / WEIGHTS_NAME).metadata["step"])
    except (FileNotFoundError, KeyError, ValueError):
        return None


def write_record(run_dir: Path, record: RunRecord) -> None:
    """Write the record as the run's config.json. Raises FormatError for more shards than it can list."""
    settings, others = record.config.to_json(), dataclasses.asdict(record)
    del others["config"]
    known = {name: value for name, value in others.items() if value} | {"shards": list(map(str, record.shards))}
    values = {"bilm": settings.pop("bilm"), "pretraining": settings | known}
    write_config(run_dir, values, format=BILM_FORMAT, version=VERSION)


def read_record(run_dir: Path) -> RunRecord:
    """Read the record of a run.

    Raises FileNotFoundError if the folder is not a run, and ValueError for a model that elmokit did not pretrain.
    """
    return record_of(read_config(run_dir), run_dir / CONFIG_NAME)


def record_of(config: Mapping[str, Any], where: str | Path) -> RunRecord:
    """The record of a config.json that was parsed already. Raises ValueError, naming `where`, as `read_record` does."""
    both = Fields(where, checked_config(config, where=where, format=BILM_FORMAT, version=VERSION, verb="pretrain"))
    if "pretraining" not in both or "shards" not in (run := both.fields("pretraining")):
        raise ValueError(f"{where} describes a model, not a pretraining run; there is nothing to resume")
    shards = run.read("shards", list[str])
    kinds = {name: kind for name, kind in types_of(RunRecord).items() if name not in ("config", "shards")}
    read = {name: run.read(name, kind, complete=True) for name, kind in kinds.items() if name in run}
    for name in ("shard_bytes", "shard_sha256"):
        if name in read and len(read[name]) != len(shards):
            raise run.error(name, f"has {len(read[name])} entries; expected {len(shards)}, one for each shard")
    settings = run.as_dataclass(PretrainingConfig, bilm=config_of(both.fields("bilm")))
    return RunRecord(settings, [Path(shard) for shard in shards], **read)


def _card(name: str, record: RunRecord, num_tokens: int) -> str:
    config = record.config
    start = "" if record.started_from is None else f", starting from {escape_markdown(record.started_from)},"
    most = "at most " if config.patience else ""
    shards = escape_markdown(", ".join(shard.name for shard in record.shards))
    text = record.text
    passes = "" if text is None else f" It reads the {text.num_tokens:,} tokens of text {most}{text.times(config)}."
    changes = escape_markdown("; ".join(map(str, record.changes)))
    changes = f"\nSettings were changed under way: {changes}.\n" if changes else ""
    return (
        f"# {escape_markdown(name)}\n\n"
        f"A biLM ({config.bilm.num_parameters:,} parameters without the softmax) that `elmokit` is training, "
        f"or has trained{start} for {most}{config.num_steps:,} steps of {config.tokens_per_step:,} tokens on "
        f"{shards}, with a vocabulary of {num_tokens:,} tokens.{passes}\n"
        "`config.json` has all settings, `metrics.jsonl` the losses and perplexities.\n"
        f"{changes}"
    )


def with_change(
    changes: Sequence[Change], old: PretrainingConfig, new: PretrainingConfig, *, step: int, num_tokens: int
) -> tuple[Change, ...]:
    """The changes of a run that continues at `step` with new settings; none is added if the settings are the old ones.

    A change recorded at a later step, whose checkpoint is lost, takes effect from this step.
    """
    known = [change if change.step <= step else replace(change, step=step, num_tokens=num_tokens) for change in changes]
    before, after = old.to_json(), new.to_json()
    names = [entry.name for entry in dataclasses.fields(PretrainingConfig) if before[entry.name] != after[entry.name]]
    if names:
        values = ({name: record[name] for name in names} for record in (before, after))
        known.append(Change(step, num_tokens, *values))
    return tuple(known)
