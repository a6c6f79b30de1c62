"""Bounds on the sizes of a biLM, checked before shapes are computed, and `BiLMConfig` <-> fields of a JSON object."""

from dataclasses import asdict
from pathlib import Path

from elmokit.files.json_fields import MAX_PAIRS, Fields
from elmokit.model.config import BiLMConfig, LookupConfig
from elmokit.system.messages import FormatError

# Far above any biLM (the released ones have 7 filter groups, 2 layers, width 4096), far below what is slow to compute.
MAX_LAYERS = 64
MAX_DIM = 1 << 20
MAX_CHARACTERS = 1 << 16
MAX_CLIP = 1e30
MAX_ENTRIES = 1 << 26
"""Largest number of words or characters in a dictionary."""

_BOUNDS = {
    "character_dim": (1, MAX_DIM),
    "num_characters": (261, 262),
    "max_characters_per_token": (3, MAX_CHARACTERS),
    "num_highway_layers": (0, MAX_LAYERS),
    "projection_dim": (1, MAX_DIM),
    "lstm_dim": (1, MAX_DIM),
    "num_layers": (1, MAX_LAYERS),
    "cell_clip": (0, MAX_CLIP),
    "projection_clip": (0, MAX_CLIP),
}
_LOOKUP_BOUNDS = {
    "num_words": (0, MAX_ENTRIES),
    "word_dim": (0, MAX_DIM),
    "num_symbols": (0, MAX_ENTRIES),
    "padding_symbol": (0, MAX_ENTRIES),
}


def config_of(fields: Fields) -> BiLMConfig:
    """The config with exactly these fields. Raises FormatError, naming the field, for one that is wrong or missing."""
    lookup = None
    if "lookup" in fields:
        lookup = fields.fields("lookup").as_dataclass(LookupConfig, complete=True, bounds=_LOOKUP_BOUNDS)
    has_no_filters = lookup is not None and not lookup.num_symbols and fields.read("filters", list[object]) == []
    filters = () if has_no_filters else fields.read("filters", tuple[tuple[int, int], ...], most=MAX_DIM)
    return fields.as_dataclass(BiLMConfig, complete=True, bounds=_BOUNDS, filters=filters, lookup=lookup)


def fields_of(config: BiLMConfig) -> dict[str, object]:
    """The config as JSON values."""
    fields: dict[str, object] = asdict(config)
    if config.lookup is None:
        del fields["lookup"]
    return fields | {"filters": [list(pair) for pair in config.filters]}


def require_bounds(path: Path, config: BiLMConfig) -> None:
    """Raise FormatError, naming `path`, for sizes that a config.json may not have either."""
    sizes: dict[str, float | None] = vars(config) | ({} if config.lookup is None else vars(config.lookup))
    sizes |= {"number of filter groups": len(config.filters), "num_filters": config.num_filters}
    bounds = _BOUNDS | _LOOKUP_BOUNDS | {"number of filter groups": (0, MAX_PAIRS), "num_filters": (0, MAX_DIM)}
    for name, (_, most) in bounds.items():
        if (sizes.get(name) or 0) > most:
            raise FormatError(path, f"{name} is {sizes[name]:,}; at most {most:,} is read")
