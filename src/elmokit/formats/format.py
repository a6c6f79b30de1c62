"""A format of models on disk: a record of functions, like a task, and what its functions take and fill.

A new format is a file with such a record, and a line in the list of `recognise.py`; `read`, `inspect`, `convert`
and the command line then know it. Every format is read into a `StoredBiLM`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.formats.vocabulary_file import read_vocabulary
from elmokit.system.messages import FormatError, printable, readable_bytes

if TYPE_CHECKING:
    from elmokit.formats.model_files import ModelFiles
    from elmokit.formats.weights import StoredBiLM, StoredMix
    from elmokit.model.config import BiLMConfig


@dataclass(frozen=True)
class Format:
    """A way to keep a biLM on disk, in a folder or in one file."""

    name: str
    """Short name, such as `bilm_tf`."""
    description: str
    """Description for people, such as `bilm-tf / AllenNLP (options.json, HDF5)`."""
    recognise: Callable[[ModelFiles], bool]
    """Whether the files are meant to be a model of this format, by their contents, never by their names.

    Raises FormatError if they are, but something is missing. No pickle is run, and no weights are read.
    """
    inspect: Callable[[ModelFiles, Inspection], None]
    """Adds what the files say to an inspection, without reading weights; a FormatError ends it with a refusal."""
    read: Callable[[ModelFiles, bool], StoredBiLM]
    """Reads the model, and its softmax if there is one and the second argument is True; otherwise that is not touched.

    Raises FormatError, which names the file, the part of it and the reason.
    """


@dataclass
class Inspection:
    """What an inspection found, up to the reason why reading fails, if so; `risks` are what else a user should know."""

    path: Path
    format: str | None = None
    """Name of the format; None if it is unknown."""
    description: str = "unknown"
    files: dict[Path, int] = field(default_factory=dict["Path", int])
    """Size in bytes of each file that belongs to the model."""
    dtypes: list[str] = field(default_factory=list[str])
    config: BiLMConfig | None = None
    num_softmax_rows: int | None = None
    softmax_dtypes: list[str] = field(default_factory=list[str])
    """Types of the softmax's weight."""
    vocabulary_size: int | None = None
    mixes: list[StoredMix] = field(default_factory=list["StoredMix"])
    """Scalar mixes of the task model that the biLM is part of."""
    refusals: list[str] = field(default_factory=list[str])
    risks: list[str] = field(default_factory=list[str])

    @property
    def num_parameters(self) -> int | None:
        """Number of parameters without the softmax; None if the config could not be read."""
        return None if self.config is None else self.config.num_parameters

    def add_files(self, *paths: Path) -> None:
        self.files |= {path: path.stat().st_size for path in paths}

    def add_vocabulary(self, path: Path | None) -> None:
        """Add the vocabulary, if any. Raises FormatError unless it matches the softmax, if one was found before."""
        if path is None:
            return
        self.add_files(path)
        self.vocabulary_size, rows = len(read_vocabulary(path)), self.num_softmax_rows
        if rows not in (None, self.vocabulary_size):
            raise FormatError(path, f"has {self.vocabulary_size} tokens, but the softmax has {rows} rows")

    def __str__(self) -> str:
        rows = [("format", self.description)]
        rows += [("file", f"{path.name}  {readable_bytes(size)}") for path, size in self.files.items()]
        rows += [("weights", ", ".join(self.dtypes))] if self.dtypes else []
        if self.softmax_dtypes and self.softmax_dtypes != self.dtypes:
            rows.append(("softmax", ", ".join(self.softmax_dtypes)))
        if self.config is not None:
            rows += _describe(self.config)
            number, also = self.config.num_parameters, "no softmax"
            if self.num_softmax_rows is not None:
                also = f"{number + self.num_softmax_rows * (self.config.projection_dim + 1):,} with the softmax"
            rows.append(("parameters", f"{number:,} ({also})"))
        if self.vocabulary_size is not None:
            rows.append(("vocabulary", f"{self.vocabulary_size:,} tokens"))
        for mix in self.mixes:
            weights = ", ".join(f"{weight:.3g}" for weight in mix.weights)
            rows.append(("mix", f"{mix.name}: weights {weights}, gamma {mix.gamma:.3g}"))
        problems = [("refused", text) for text in self.refusals] + [("risk", text) for text in self.risks]
        rows += problems or [("risks", "none found (weights not read)")]
        lines = [str(self.path), *(f"  {name:<11} {value}" for name, value in rows)]
        return "\n".join(printable(line, most=None) for line in lines)


def _describe(config: BiLMConfig) -> list[tuple[str, str]]:
    directions = "forward and backward" if config.bidirectional else "forward only"
    skips = "skip connections" if config.use_skip_connections else "no skip connections"
    projected = f" projected to {config.projection_dim}" if config.projection_dim != config.lstm_dim else ""
    filters = " ".join(f"{number}x{width}" for width, number in config.filters)
    clips = [
        f"{name} to +-{value:g}" if value is not None else f"{name} not"
        for name, value in (("cells", config.cell_clip), ("projections", config.projection_clip))
    ]
    rows = [
        ("LSTMs", f"{config.num_layers} layers of {config.lstm_dim} cells{projected}, {directions}, {skips}"),
        ("clipped", ", ".join(clips)),
    ]
    lookup, most = config.lookup, config.max_characters_per_token
    if lookup is not None and lookup.num_words:
        rows.append(("words", f"a dictionary of {lookup.num_words:,}, embedded in {lookup.word_dim}"))
    if config.reads_characters:
        rows.append(("characters", f"at most {most} per token, embedded in {config.character_dim}"))
        rows.append(("filters", f"{config.num_filters} (number x width: {filters}), {config.activation}"))
        rows.append(("highways", str(config.num_highway_layers)))
    return [*rows, ("vectors", f"{config.num_layers + 1} layers of {config.output_dim}")]
