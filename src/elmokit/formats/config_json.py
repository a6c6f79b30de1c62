"""`BiLMConfig` <-> the JSON object in a config.json, with bounds on all sizes, checked before shapes are computed."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

from elmokit.files.json import as_type, read_json
from elmokit.model.config import BiLMConfig
from elmokit.runs.folder import BILM_FORMAT
from elmokit.system.messages import FormatError

# Far above any biLM (the released ones have 7 filter groups, 2 layers, width 4096), far below what is slow to compute.
MAX_LAYERS = 64
MAX_DIM = 1 << 20
MAX_CHARACTERS = 1 << 16
MAX_CLIP = 1e30
MAX_ENTRIES = 1 << 26
"""Largest number of words or characters in a dictionary."""
MAX_FILTER_GROUPS = 64
VERSION = 1

_MOST = {
    **dict.fromkeys(("character_dim", "projection_dim", "lstm_dim", "num_filters", "word_dim"), MAX_DIM),
    **dict.fromkeys(("num_highway_layers", "num_layers"), MAX_LAYERS),
    **dict.fromkeys(("cell_clip", "projection_clip"), MAX_CLIP),
    **dict.fromkeys(("num_words", "num_symbols", "padding_symbol"), MAX_ENTRIES),
    "max_characters_per_token": MAX_CHARACTERS,
    "number of filter groups": MAX_FILTER_GROUPS,
}


@dataclass(frozen=True)
class _ConfigFile:
    format: str
    version: int
    bilm: BiLMConfig
    pretraining: dict[str, Any] | None = None


def read_config(path: Path) -> tuple[BiLMConfig, dict[str, object] | None]:
    """The biLM's config in a config.json, and how it was pretrained. Raises FormatError, which names the field."""
    values = read_json(path)
    if values.get("format") != BILM_FORMAT:
        raise FormatError(path, f'is not "{BILM_FORMAT}"', part="field format")
    if values.get("version") != VERSION:
        reason = f"is {values.get('version')}; this elmokit reads version {VERSION}, install a newer elmokit"
        raise FormatError(path, reason, part="field version")
    _require_complete(path, values.get("bilm"))
    whole = as_type(values, _ConfigFile, where=path)
    require_bounds(path, whole.bilm)
    return whole.bilm, whole.pretraining


def fields_of(config: BiLMConfig) -> dict[str, object]:
    """The config as JSON values."""
    values: dict[str, object] = asdict(config)
    if config.lookup is None:
        del values["lookup"]
    return values | {"filters": [list(pair) for pair in config.filters]}


def require_bounds(path: Path, config: BiLMConfig) -> None:
    """Raise FormatError, naming `path`, for sizes that no model has."""
    sizes: dict[str, float | None] = vars(config) | ({} if config.lookup is None else vars(config.lookup))
    sizes |= {"number of filter groups": len(config.filters), "num_filters": config.num_filters}
    for name, most in _MOST.items():
        if (sizes.get(name) or 0) > most:
            raise FormatError(path, f"{name} is {sizes[name]:,}; at most {most:,} is read")


def _require_complete(where: str | Path, values: object) -> None:
    """The defaults are a published model, so a field that is missing would silently describe another model."""
    for field in fields(BiLMConfig) if isinstance(values, dict) else ():
        if field.name != "lookup" and field.name not in cast("dict[str, object]", values):
            raise FormatError(where, "is missing", part=f"field bilm.{field.name}")
