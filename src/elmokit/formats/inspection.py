"""`elmokit inspect`: describes the files of a model, and says why if they cannot be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.safetensors import WEIGHTS, read_layout
from elmokit.formats.native import (
    CARD_NAME,
    CONFIG_NAME,
    DICTIONARY_NAME,
    INT8,
    VOCABULARY_NAME,
    WEIGHTS_NAME,
    open_weights,
    read_config,
    softmax_files,
    softmax_shards,
)
from elmokit.model.config import BiLMConfig
from elmokit.model.weights import SOFTMAX_BIAS, SOFTMAX_NAMES, SOFTMAX_WEIGHT
from elmokit.system.messages import FormatError, printable, readable_bytes

if TYPE_CHECKING:
    from jaxtyping import Float


SEVERAL_VOCABULARIES = "there are several vocabularies, and none is used"
"""The first words of this risk."""


@dataclass(frozen=True)
class StoredMix:
    """A scalar mix learned by a task model: `gamma * sum_j softmax(weights)_j * layers[j]`."""

    name: str
    """Its name in the file, such as `text_field_embedder.token_embedder_elmo._elmo.scalar_mix_0`."""
    weights: tuple[float, ...]
    """One per layer, from layer 0 on, before the softmax."""
    gamma: float

    def __call__(self, layers: Float[np.ndarray, "L T E"]) -> Float[np.ndarray, "T E"]:
        """The mixed vectors of a sentence, from `Elmo.encode(..., layers="all")`.

        Raises ValueError if the number of layers is wrong.
        """
        if len(layers) != len(self.weights):
            raise ValueError(f"a mix over {len(self.weights)} layers was given {len(layers)}")
        shares = np.exp(np.array(self.weights) - max(self.weights))
        return (self.gamma * np.tensordot(shares / shares.sum(), layers, axes=1)).astype(np.float32)


@dataclass
class Inspection:
    """The findings of an inspection. `refusals` say why reading fails; `risks` are other things a user should know."""

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
    mixes: list[StoredMix] = field(default_factory=list[StoredMix])
    """Scalar mixes of the task model that contains the biLM."""
    refusals: list[str] = field(default_factory=list[str])
    risks: list[str] = field(default_factory=list[str])

    @property
    def num_parameters(self) -> int | None:
        """Number of parameters without the softmax; None if the config could not be read."""
        return None if self.config is None else self.config.num_parameters

    def add_files(self, *paths: Path) -> None:
        self.files |= {path: path.stat().st_size for path in paths}

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
        rows += problems or [("risks", "none found")]
        lines = [str(self.path), *(f"  {name:<11} {value}" for name, value in rows)]
        return "\n".join(printable(line, limit=None) for line in lines)


def describe_native(folder: Path, inspection: Inspection) -> None:
    """Add a description of the files of a native model. Raises the errors of opening the model."""
    inspection.format, inspection.description = "native", "native (config.json, safetensors)"
    inspection.add_files(folder / CONFIG_NAME)
    config, _ = read_config(folder / CONFIG_NAME)
    inspection.config = config
    weights = open_weights(folder)
    path = folder / WEIGHTS_NAME
    inspection.add_files(path)
    layout = read_layout(path, dtypes=WEIGHTS.values())
    names = {code: name for name, code in WEIGHTS.items()} | {INT8: "int8"}
    inspection.dtypes = sorted(
        {names[entry.dtype] for name, entry in layout.tensors.items() if name not in SOFTMAX_NAMES}
    )
    if SOFTMAX_WEIGHT in layout.tensors or softmax_shards(folder):
        files = softmax_files(path, config, layout)
        parts = [file.tensors for file in files.values()]
        inspection.softmax_dtypes = sorted({names[part[SOFTMAX_WEIGHT].dtype] for part in parts})
        inspection.num_softmax_rows = sum(part[SOFTMAX_BIAS].shape[0] for part in parts)
        inspection.add_files(*files)
    inspection.add_files(*(file for name in (DICTIONARY_NAME, CARD_NAME) if (file := folder / name).is_file()))
    if not (folder / CARD_NAME).is_file():
        inspection.risks.append(f"there is no model card ({CARD_NAME}): data and licence are unknown")
    if weights.vocabulary is not None:
        inspection.add_files(folder / VOCABULARY_NAME)
        inspection.vocabulary_size, rows = len(weights.vocabulary), inspection.num_softmax_rows
        if rows not in (None, inspection.vocabulary_size):
            reason = f"has {inspection.vocabulary_size} tokens, but the softmax has {rows} rows"
            raise FormatError(folder / VOCABULARY_NAME, reason)


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
