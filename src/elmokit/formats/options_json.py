"""bilm-tf's `options.json` <-> `BiLMConfig`, with the keys and defaults of bilm-tf and AllenNLP."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from elmokit.files.json_fields import Fields, read_json_object
from elmokit.formats.config_json import MAX_CHARACTERS, MAX_CLIP, MAX_DIM, MAX_FILTER_GROUPS, MAX_LAYERS
from elmokit.formats.weights import StoredBiLM
from elmokit.model.config import BiLMConfig, LookupConfig
from elmokit.system.messages import FormatError

TRAINING_OPTIONS = (
    "all_clip_norm_val",
    "batch_size",
    "dropout",
    "learning_rate",
    "n_epochs",
    "n_negative_samples_batch",
    "n_tokens_vocab",
    "n_train_tokens",
    "sample_softmax",
    "share_embedding_softmax",
    "unroll_steps",
)
"""Options that do not matter for inference; they are kept as a record of how the model was trained."""

STORED_TRAINING_OPTIONS = "bilm_tf_options"  # the key of these options in `StoredBiLM.pretraining`

_AT_PREDICTION = 262  # characters; a checkpoint says 261, with which bilm-tf trains, and which it then refuses


@dataclass(frozen=True)
class Options:
    """Contents of an options.json."""

    config: BiLMConfig
    training: dict[str, object]
    says_direction: bool
    """Whether it has the key `bidirectional`; the released ones do not."""
    risks: list[str] = field(default_factory=list[str])


def read_options(path: Path, *, is_named: bool = False) -> Options:
    """Read and check the file, including bounds on all sizes. Raises FormatError, which names the field.

    is_named: the user has named this file, so it may be a link out of its folder.
    """
    options = Fields(path, read_json_object(path, is_named=is_named))
    lstm = options.fields("lstm")
    characters = options.fields("char_cnn") if "char_cnn" in options else None
    risks: list[str] = []
    says_direction = "bidirectional" in options
    try:
        config = BiLMConfig(
            **(_sizes_of_words(lstm) if characters is None else _sizes_of_characters(characters, risks)),
            projection_dim=lstm.integer("projection_dim", least=1, most=MAX_DIM),
            lstm_dim=lstm.integer("dim", least=1, most=MAX_DIM),
            num_layers=lstm.integer("n_layers", least=1, most=MAX_LAYERS) if "n_layers" in lstm else 1,
            cell_clip=_clip(lstm, "cell_clip", risks),
            projection_clip=_clip(lstm, "proj_clip", risks),
            use_skip_connections=lstm.boolean("use_skip_connections") if "use_skip_connections" in lstm else False,
            bidirectional=options.boolean("bidirectional") if says_direction else True,
        )
    except FormatError:
        raise
    except ValueError as error:
        raise FormatError(path, str(error)) from error
    training = {name: options.value(name) for name in TRAINING_OPTIONS if name in options}
    kept = {name: value for name, value in training.items() if not isinstance(value, list | dict)}
    unknown = [*options.unread, *lstm.unread, *([] if characters is None else characters.unread)]
    if unknown:
        risks.append(f"{path.name} has unknown fields, which are ignored: {', '.join(unknown)}")
    return Options(config=config, training=kept, says_direction=says_direction, risks=risks)


def options_of(stored: StoredBiLM) -> dict[str, object]:
    """Contents of the options.json of a model; training options are included if it was read from such a file."""
    config = stored.config
    training = (stored.pretraining or {}).get(STORED_TRAINING_OPTIONS)
    known = cast("dict[str, object]", training) if isinstance(training, dict) else {}
    options = {name: value for name, value in known.items() if name in TRAINING_OPTIONS}
    return options | {
        "bidirectional": config.bidirectional,
        "lstm": {
            "dim": config.lstm_dim,
            "projection_dim": config.projection_dim,
            "n_layers": config.num_layers,
            "cell_clip": config.cell_clip,  # null, not left out, where there is none: AllenNLP wants the key
            "proj_clip": config.projection_clip,
            "use_skip_connections": config.use_skip_connections,
        },
        "char_cnn": {
            "activation": config.activation,
            "embedding": {"dim": config.character_dim},
            "filters": [list(pair) for pair in config.filters],
            "max_characters_per_token": config.max_characters_per_token,
            "n_characters": _AT_PREDICTION,
            "n_highway": config.num_highway_layers,
        },
    }


def _sizes_of_characters(characters: Fields, risks: list[str]) -> dict[str, Any]:
    return {
        "filters": characters.pairs("filters", most_pairs=MAX_FILTER_GROUPS, most=MAX_DIM),
        "character_dim": characters.fields("embedding").integer("dim", least=1, most=MAX_DIM),
        "num_characters": _num_characters(characters, risks),
        "max_characters_per_token": characters.integer("max_characters_per_token", least=3, most=MAX_CHARACTERS),
        "activation": characters.text("activation"),
        "num_highway_layers": _num_highway_layers(characters),
    }


def _sizes_of_words(lstm: Fields) -> dict[str, Any]:
    """A model without a char_cnn reads words as a whole; the file of weights says how many there are."""
    width = lstm.integer("projection_dim", least=1, most=MAX_DIM)
    return words_instead(width=width, num_words=1)


def words_instead(*, width: int, num_words: int) -> dict[str, Any]:
    """The fields in which a config with a table of words of this width differs from one that reads characters."""
    lookup = LookupConfig(num_words=num_words, word_dim=width, num_symbols=0, padding_symbol=0, projects=False)
    return {
        "filters": (),
        "num_highway_layers": 0,
        "max_characters_per_token": MAX_CHARACTERS,  # words are not cut
        "lookup": lookup,
    }


def _num_characters(characters: Fields, risks: list[str]) -> int:
    if "n_characters" not in characters:
        return _AT_PREDICTION
    number = characters.integer("n_characters", least=261, most=262)
    if number == 261:
        risks.append("n_characters is 261, as for training: harmless here, but bilm-tf refuses it at prediction")
    return number


def _num_highway_layers(characters: Fields) -> int:
    if "n_highway" not in characters or characters.value("n_highway") is None:
        return 0
    return characters.integer("n_highway", least=0, most=MAX_LAYERS)


def _clip(lstm: Fields, name: str, risks: list[str]) -> float | None:
    """The clipping value. 0 means no clipping, as in AllenNLP; TensorFlow would clip everything to 0."""
    value = lstm.number_or_none(name, most=MAX_CLIP)
    if value == 0:
        risks.append(f"lstm.{name} is 0: read as no clipping, as AllenNLP does; bilm-tf clips everything to 0")
    return value or None
