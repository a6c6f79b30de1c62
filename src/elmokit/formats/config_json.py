"""Bounds on the sizes of a biLM, checked before shapes are computed, and `BiLMConfig` <-> fields of a JSON object."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict
from typing import TYPE_CHECKING

from elmokit.model.config import BiLMConfig, LookupConfig
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from elmokit.files.json_fields import Fields

# Far above any biLM (the released ones have 7 filter groups, 2 layers, width 4096), far below what is slow to compute.
MAX_LAYERS = 64
MAX_FILTER_GROUPS = 64
MAX_DIM = 1 << 20
MAX_CHARACTERS = 1 << 16
MAX_CLIP = 1e30
MAX_ENTRIES = 1 << 26
"""Largest number of words or characters in a dictionary."""


def config_of(fields: Fields) -> BiLMConfig:
    """The config with exactly these fields. Raises FormatError, naming the field, for one that is wrong or missing."""
    fields.require_known(BiLMConfig.field_names())
    lookup = _lookup_of(fields.fields("lookup")) if "lookup" in fields else None
    for name in ("cell_clip", "projection_clip"):
        fields.value(name)  # null means no clipping, but an absent field is an error
    try:
        return BiLMConfig(
            filters=_filters(fields, lookup),
            character_dim=fields.integer("character_dim", least=1, most=MAX_DIM),
            num_characters=fields.integer("num_characters", least=261, most=262),
            max_characters_per_token=fields.integer("max_characters_per_token", least=3, most=MAX_CHARACTERS),
            activation=fields.text("activation"),
            num_highway_layers=fields.integer("num_highway_layers", least=0, most=MAX_LAYERS),
            projection_dim=fields.integer("projection_dim", least=1, most=MAX_DIM),
            lstm_dim=fields.integer("lstm_dim", least=1, most=MAX_DIM),
            num_layers=fields.integer("num_layers", least=1, most=MAX_LAYERS),
            cell_clip=fields.number_or_none("cell_clip", most=MAX_CLIP),
            projection_clip=fields.number_or_none("projection_clip", most=MAX_CLIP),
            use_skip_connections=fields.boolean("use_skip_connections"),
            bidirectional=fields.boolean("bidirectional"),
            lookup=lookup,
        )
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(fields.where, str(error), part="bilm") from error


def fields_of(config: BiLMConfig) -> dict[str, object]:
    """The config as JSON values."""
    fields: dict[str, object] = asdict(config)
    if config.lookup is None:
        del fields["lookup"]
    return fields | {"filters": [list(pair) for pair in config.filters]}


def _filters(fields: Fields, lookup: LookupConfig | None) -> tuple[tuple[int, int], ...]:
    if lookup is not None and not lookup.num_symbols and fields.items("filters") == []:
        return ()
    return fields.pairs("filters", most_pairs=MAX_FILTER_GROUPS, most=MAX_DIM)


def _lookup_of(fields: Fields) -> LookupConfig:
    fields.require_known([entry.name for entry in dataclasses.fields(LookupConfig)])
    try:
        return LookupConfig(
            num_words=fields.integer("num_words", most=MAX_ENTRIES),
            word_dim=fields.integer("word_dim", most=MAX_DIM),
            num_symbols=fields.integer("num_symbols", most=MAX_ENTRIES),
            padding_symbol=fields.integer("padding_symbol", most=MAX_ENTRIES),
            projects=fields.boolean("projects"),
        )
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(fields.where, str(error), part="bilm.lookup") from error
