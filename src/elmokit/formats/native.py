"""The native format: a folder with config.json, model.safetensors, vocabulary.txt and a model card, README.md.

A model that reads tokens by their numbers has a dictionary.json. The folder is a repository for the Hugging Face Hub,
whose lines are at the start of the card. The softmax is in model.safetensors or in files of its own (`native_softmax`),
or absent; then perplexity, and fine-tuning with the same vocabulary, are not possible.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from elmokit.files.atomic import is_free, new_folder, write_text
from elmokit.files.json_fields import Fields, blaming, json_text, read_json_object
from elmokit.files.locks import lock
from elmokit.files.safetensors import WEIGHTS, TensorEntry, map_weights, read_layout, write_arrays
from elmokit.files.weights_file import Array
from elmokit.formats.config_json import config_of, fields_of
from elmokit.formats.file_kinds import FileKind, kind_of
from elmokit.formats.format import Format, Inspection
from elmokit.formats.native_softmax import (
    HEADER_ROOM,
    INT8,
    METADATA,
    SOFTMAX_DTYPES,
    read_softmax,
    remove_other_softmaxes,
    softmax_files,
    softmax_shards,
    split_softmax,
    write_softmax,
)
from elmokit.formats.vocabulary_file import read_vocabulary
from elmokit.formats.weights import SOFTMAX_BIAS, SOFTMAX_NAMES, SOFTMAX_WEIGHT, StoredBiLM, check_padding, check_shapes
from elmokit.runs.folder import BILM_FORMAT, CONFIG_NAME
from elmokit.system.messages import FormatError
from elmokit.text.indexer import DictionarySpelling

if TYPE_CHECKING:
    from elmokit.formats.model_files import ModelFiles
    from elmokit.model.config import BiLMConfig

VERSION = 1
WEIGHTS_NAME = "model.safetensors"
VOCABULARY_NAME = "vocabulary.txt"
CARD_NAME = "README.md"
DICTIONARY_NAME = "dictionary.json"
_MAX_DICTIONARY_BYTES = 256 << 20
"""A dictionary of 150,000 words has 4 MB."""
_BYTES_PER_ROW, _SMALL = 1 << 10, 1 << 20
_BOUNDARIES = ("begin", "end", "unknown")
_CARD_METADATA = """---
library_name: elmokit
pipeline_tag: feature-extraction
tags:
- elmo
- word-embeddings
---

"""


def read_config(path: Path) -> tuple[BiLMConfig, dict[str, object] | None]:
    """The biLM's config in a config.json, and how it was pretrained. Raises FormatError, which names the field."""
    fields = Fields(path, read_json_object(path))
    if fields.value("format") != BILM_FORMAT:
        raise fields.error("format", f'is not "{BILM_FORMAT}"')
    version = fields.integer("version", least=1, most=1 << 31)
    if version != VERSION:
        raise fields.error("version", f"is {version}; this elmokit reads version {VERSION}, install a newer elmokit")
    fields.require_known(("format", "version", "bilm", "pretraining"))
    pretraining = fields.read("pretraining", dict[str, object]) if "pretraining" in fields else None
    return config_of(fields.fields("bilm")), pretraining


def _recognise(files: ModelFiles) -> bool:
    """Whether it is a folder with a config.json of elmokit, or a config or file of weights in such a folder."""
    if files.weights is not None:
        return False
    if not files.is_folder and files.given[files.path] not in (FileKind.SAFETENSORS, FileKind.NATIVE_CONFIG):
        return False
    config = files.folder / CONFIG_NAME
    return config.is_file() and kind_of(config) is FileKind.NATIVE_CONFIG


def _read(files: ModelFiles, with_softmax: bool) -> StoredBiLM:
    """Weights stored as float16 are converted to float32; without `with_softmax`, the softmax is not read from disk."""
    folder = files.folder
    config, pretraining = read_config(folder / CONFIG_NAME)
    weights = folder / WEIGHTS_NAME
    header = read_layout(weights, dtypes=WEIGHTS.values()).tensors
    check_shapes(weights, config, {name: entry.shape for name, entry in header.items()})
    tensors = map_weights(weights, config.tensor_shapes())
    check_padding(weights, config, tensors)
    vocabulary_path = folder / VOCABULARY_NAME
    vocabulary = read_vocabulary(vocabulary_path) if vocabulary_path.is_file() else None
    if with_softmax and _has_softmax(folder, header):
        parts = softmax_files(weights, config, header)
        tensors |= read_softmax(parts)
    spelling = None if config.lookup is None else read_dictionary(folder / DICTIONARY_NAME, config)
    stored = StoredBiLM(config, tensors, vocabulary, pretraining, spelling)
    stored.check_spelling(folder / DICTIONARY_NAME)
    stored.check_softmax(vocabulary_path)
    return stored


def _has_softmax(folder: Path, header: Mapping[str, TensorEntry]) -> bool:
    """Whether the model has a softmax, complete or not."""
    return bool(softmax_shards(folder)) or SOFTMAX_WEIGHT in header


def write_native(
    folder: Path,
    stored: StoredBiLM,
    *,
    dtype: str = "float32",
    softmax_dtype: str | None = None,
    max_file_bytes: int | None = None,
    card: str | None = None,
) -> None:
    """Write a model. With `max_file_bytes`, the softmax is split into separate files that are not larger.

    dtype: float32 or float16. softmax_dtype: type of the softmax's weight, by default the same; int8 rows have scales.
    card: text of README.md; by default that of `card_of` is written, unless the folder has one.

    A new folder is written completely or not at all. In a folder that already holds a native model, each file is
    replaced atomically, config.json last. Raises FileExistsError if its softmax would be lost, and for any other folder
    that is not empty.
    """
    for name, given, known in (("dtype", dtype, WEIGHTS), ("softmax_dtype", softmax_dtype or dtype, SOFTMAX_DTYPES)):
        if given not in known:
            raise ValueError(f"{name} is {given!r}; expected {' or '.join(known)}")
    stored.check(folder)
    if "float16" in (dtype, softmax_dtype):
        _require_float16(folder, stored.tensors)
    values: dict[str, object] = {"format": BILM_FORMAT, "version": VERSION, "bilm": fields_of(stored.config)}
    values |= {} if stored.pretraining is None else {"pretraining": stored.pretraining}
    config = json_text(folder / CONFIG_NAME, values)
    own, shards = _in_files(stored, dtype, softmax_dtype or dtype, max_file_bytes)
    with _target(folder, has_softmax=stored.has_softmax) as target:
        write_softmax(target, shards, dtype=softmax_dtype or dtype)
        arrays = {name: np.asarray(array, dtype=dtype) for name, array in own.items()}
        write_arrays(target / WEIGHTS_NAME, arrays, metadata=METADATA)
        if card is not None or not (target / CARD_NAME).exists():
            write_text(target / CARD_NAME, card_of(stored) if card is None else card)
        if stored.vocabulary is not None:
            stored.vocabulary.write(target / VOCABULARY_NAME)
        else:
            (target / VOCABULARY_NAME).unlink(missing_ok=True)
        if stored.spelling is not None:
            write_dictionary(target / DICTIONARY_NAME, stored.spelling)
        else:
            (target / DICTIONARY_NAME).unlink(missing_ok=True)
        remove_other_softmaxes(target, num_parts=len(shards))
        write_text(target / CONFIG_NAME, config)


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    folder = files.folder
    config_path, weights = folder / CONFIG_NAME, folder / WEIGHTS_NAME
    inspection.add_files(config_path)
    config, _ = read_config(config_path)
    inspection.config = config
    names = {code: name for name, code in WEIGHTS.items()} | {INT8: "int8"}
    inspection.add_files(weights)
    header = read_layout(weights, dtypes=WEIGHTS.values()).tensors
    inspection.dtypes = sorted({names[e.dtype] for name, e in header.items() if name not in SOFTMAX_NAMES})
    check_shapes(weights, config, {name: entry.shape for name, entry in header.items()})
    if _has_softmax(folder, header):
        parts = softmax_files(weights, config, header)
        inspection.softmax_dtypes = sorted({names[part[SOFTMAX_WEIGHT].dtype] for part in parts.values()})
        inspection.num_softmax_rows = sum(part[SOFTMAX_BIAS].shape[0] for part in parts.values())
        inspection.add_files(*parts)
    if (folder / CARD_NAME).is_file():
        inspection.add_files(folder / CARD_NAME)
    else:
        inspection.risks.append(f"there is no model card ({CARD_NAME}): data and licence are not known")
    if config.lookup is not None:
        read_dictionary(folder / DICTIONARY_NAME, config)
        inspection.add_files(folder / DICTIONARY_NAME)
    if (folder / VOCABULARY_NAME).is_file():
        inspection.add_vocabulary(folder / VOCABULARY_NAME)


def write_dictionary(path: Path, spelling: DictionarySpelling) -> None:
    values: dict[str, object] = {name: getattr(spelling, name) for name in _BOUNDARIES}
    values |= {"words": dict(spelling.words), "symbols": dict(spelling.symbols)}
    write_text(path, json.dumps(values, indent=0) + "\n")


def read_dictionary(path: Path, config: BiLMConfig) -> DictionarySpelling:
    """Read and check the file. Raises FormatError, which names it and the field, also if it is too large for the rows.

    config: with the rows that the weights have.
    """
    assert config.lookup is not None
    num_rows = config.lookup.num_words + config.lookup.num_symbols
    most = min(_MAX_DICTIONARY_BYTES, _BYTES_PER_ROW * num_rows + _SMALL)
    fields = Fields(path, read_json_object(path, max_bytes=most))
    fields.require_known((*_BOUNDARIES, "words", "symbols"))
    names = {name: fields.text(name) for name in _BOUNDARIES}
    with blaming(path):
        return DictionarySpelling(
            words=_numbers(fields, "words"),
            symbols=_numbers(fields, "symbols"),
            max_characters_per_token=config.max_characters_per_token,
            **names,
        )


def _numbers(fields: Fields, name: str) -> dict[str, int]:
    numbers = fields.read(name, dict[str, object])
    if not all(type(number) is int for number in numbers.values()):
        raise fields.error(name, "has a value that is not a whole number")
    return cast("dict[str, int]", numbers)


def _require_float16(path: Path, tensors: Mapping[str, Array]) -> None:
    for name, array in tensors.items():
        largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
        if largest > float(np.finfo(np.float16).max):
            raise FormatError(path, f"has a value of {largest:g}, too large for float16: write float32", part=name)


@contextmanager
def _target(folder: Path, *, has_softmax: bool) -> Generator[Path]:
    if is_free(folder):
        with new_folder(folder) as staging:
            yield staging
    elif (folder / CONFIG_NAME).is_file() and kind_of(folder / CONFIG_NAME) is FileKind.NATIVE_CONFIG:
        with lock(folder):
            header: Mapping[str, TensorEntry] = {}
            with suppress(FormatError, FileNotFoundError):  # what is damaged is replaced
                header = read_layout(folder / WEIGHTS_NAME, dtypes=WEIGHTS.values()).tensors
            if not has_softmax and _has_softmax(folder, header):
                raise FileExistsError(
                    f"{folder} holds a model with its softmax, which would be lost; choose another folder or remove "
                    "it (elmokit.convert, or `elmokit convert`, copies a model with its softmax)"
                )
            yield folder
    else:
        raise FileExistsError(f"{folder} exists and does not hold a native model; choose another folder or remove it")


def _in_files(
    stored: StoredBiLM, dtype: str, softmax_dtype: str, max_file_bytes: int | None
) -> tuple[Mapping[str, Array], list[dict[str, Array]]]:
    """What goes into model.safetensors, and the parts of the softmax that go into files of their own."""
    if max_file_bytes is None and softmax_dtype == dtype:
        return stored.tensors, []
    own = stored.without_softmax().tensors
    num_bytes = HEADER_ROOM * (1 + len(own) // 4) + sum(array.size for array in own.values()) * np.dtype(dtype).itemsize
    if max_file_bytes is not None and num_bytes > max_file_bytes:
        raise ValueError(f"{WEIGHTS_NAME} takes {num_bytes} bytes in {dtype}; max_file_bytes is {max_file_bytes}")
    return own, split_softmax(stored, softmax_dtype, max_file_bytes)


def card_of(stored: StoredBiLM, *, name: str = "this folder") -> str:
    """A model card of what is known from the weights: metadata for the Hub, sizes, and how to open the model."""
    config = stored.config
    softmax = "with its softmax" if stored.has_softmax else "without its softmax"
    return (
        f"{_CARD_METADATA}# A biLM for elmokit\n\n"
        f"{config.num_parameters:,} parameters ({softmax}): {config.num_layers} LSTM layers of {config.lstm_dim} cells "
        f"projected to {config.projection_dim}, {config.num_filters} character filters, "
        f"{config.num_highway_layers} highway layers.\n\n"
        f"```python\nfrom elmokit import Elmo\n\nelmo = Elmo.from_pretrained('{name}')\n```\n\n"
        "To be added by the author: the training text, its licence, and what the model is fit for.\n"
    )


NATIVE = Format(
    name="native",
    description="native (config.json, safetensors)",
    recognise=_recognise,
    inspect=_inspect,
    read=_read,
)
