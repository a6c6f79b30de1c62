"""A table of results: tab-separated values, one number per row, with what it was measured on and what it cost.

The first columns are `COLUMNS`. Further columns are settings that differ between runs, such as `training.dropout_rate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from elmokit.files.atomic import write_text
from elmokit.system.messages import FormatError


@dataclass(frozen=True)
class Result:
    """A number and where it comes from. Fields that are unknown or do not apply are empty, or None if numeric."""

    value: float
    metric: str
    """Name of the number: f1, perplexity."""
    table: str = ""
    """The table or figure of the paper that it is for; empty for a user's runs."""
    task: str = ""
    data: str = ""
    """Name of the data set."""
    corpus_size: int | None = None
    """Number of items that were scored."""
    arm: str = ""
    """What is compared with the other arms: no ELMo, + ELMo."""
    model: str = ""
    fingerprint: str = ""
    """The first digits of the fingerprint of the model's weights."""
    layer: str = ""
    seed: int | None = None
    split: str = ""
    """dev, or the name of the test set."""
    train_size: int | None = None
    """Number of training examples that were used."""
    epochs: int | None = None
    """Number of epochs until training ended."""
    stopped_by: str = ""
    """Why training ended: patience or max_epochs."""
    best_epoch: int | None = None
    cpu_minutes: float | None = None
    commit: str = ""
    machine: str = ""
    run: str = ""
    """Name of the run's folder."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further columns."""

    @property
    def was_improving(self) -> bool:
        """Whether the best epoch is one of the last two, so that more epochs might have been better."""
        return self.best_epoch is not None and self.epochs is not None and self.best_epoch > self.epochs - 2


COLUMNS = (
    *("table", "task", "data", "corpus_size", "arm", "model", "fingerprint", "layer", "seed", "split", "metric"),
    *("value", "train_size", "epochs", "stopped_by", "best_epoch", "cpu_minutes", "commit", "machine", "run"),
)
_DIGITS = 7


def read_results(path: Path) -> list[Result]:
    """Read a table. Raises FileNotFoundError, and FormatError, naming the line, for a damaged table."""
    header, *lines = path.read_text(encoding="utf-8").split("\n")
    names = header.split("\t")
    if tuple(names[: len(COLUMNS)]) != COLUMNS:
        raise FormatError(path, f"is not a table of results; expected the columns {', '.join(COLUMNS)}")
    results: list[Result] = []
    for number, line in enumerate(lines, start=2):
        try:
            results += [_result(dict(zip(names, line.split("\t"), strict=True)))] if line else []
        except ValueError as error:
            raise FormatError(f"{path}, line {number}", f"is not a result: {error}") from None
    return results


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write a table, sorted by its columns, so that versions of it can be compared line by line."""
    results = list(results)
    settings = sorted({name for result in results for name in result.settings})
    rows = [
        [*(_text(getattr(result, name)) for name in COLUMNS), *(result.settings.get(name, "") for name in settings)]
        for result in results
    ]
    write_text(path, "".join("\t".join(row) + "\n" for row in [[*COLUMNS, *settings], *sorted(rows)]))


def _result(cells: dict[str, str]) -> Result:
    """The result in a row. An empty cell leaves the default."""
    known = {name: cell for name in COLUMNS if (cell := cells.pop(name))}
    return msgspec.convert({**known, "settings": cells}, Result, strict=False)


def _text(value: float | str | None) -> str:
    """The text of a cell. Line ends and tabs become spaces."""
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    return "" if value is None else " ".join(str(value).split())
