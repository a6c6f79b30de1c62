"""The native format: a folder with config.json, model.safetensors, vocabulary.txt and a model card, README.md.

A model that reads tokens by their numbers also has a dictionary.json. The folder can be uploaded to the Hugging Face
Hub unchanged: the card begins with the Hub's metadata. The softmax is in model.safetensors, or split by rows into
softmax-00001-of-0000N.safetensors. It is optional, but perplexity and fine-tuning with the same vocabulary need it.
Separate files may store its weight in int8: integers from -127 to 127, which are multiplied by the row's float32 scale.
An int8 softmax takes half the space of a float16 one, and is read into float32 like any other.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from elmokit.files.atomic import new_folder, temporary_folder, write_text
from elmokit.files.json import as_type, json_text, read_json
from elmokit.files.lines import read_chunks, up_to
from elmokit.files.safetensors import WEIGHTS, map_weights, read_layout, write_arrays
from elmokit.formats.file_kinds import FileKind, kind_of, naming_failed_download
from elmokit.model.config import BiLMConfig
from elmokit.model.weights import (
    SOFTMAX_BIAS,
    SOFTMAX_NAMES,
    SOFTMAX_WEIGHT,
    Weights,
    check_padding,
    check_shapes,
    fingerprint_of,
)
from elmokit.runs.folder import BILM_FORMAT, CONFIG_NAME, WEIGHTS_NAME
from elmokit.system.messages import FormatError, plural, printable, refuse_link_out
from elmokit.text.spelling import DictionarySpelling
from elmokit.text.vocabulary import SKIPPED_LINE, Vocabulary

if TYPE_CHECKING:
    from elmokit.files.safetensors import Layout, TensorEntry
    from elmokit.files.weights_file import Array

VOCABULARY_NAME = "vocabulary.txt"
CARD_NAME = "README.md"
DICTIONARY_NAME = "dictionary.json"
VERSION = 1
METADATA = {"format": "elmokit"}
MAX_BYTES = 256 << 20
"""Maximum size of a vocabulary, uncompressed. The 1B Word benchmark's vocabulary has 8 MB."""
_MAX_DICTIONARY_BYTES = 256 << 20
"""A dictionary of 150,000 words has 4 MB."""
_BYTES_PER_ROW, _SMALL = 1 << 10, 1 << 20
INT8 = "I8"
SOFTMAX_DTYPES = (*WEIGHTS, "int8")
SOFTMAX_SCALE = "softmax.weight_scale"
_HEADER_ROOM = 1024  # bytes for the header entries of four tensors
_LARGEST = 127
_SHARD = re.compile(r"softmax-\d{5}-of-\d{5}\.safetensors")
_DTYPES_IN_SHARDS = (*WEIGHTS.values(), INT8)
_CARD_METADATA = """---
library_name: elmokit
pipeline_tag: feature-extraction
tags:
- elmo
- word-embeddings
---

"""


@dataclass(frozen=True)
class _ConfigFile:
    """Contents of a config.json."""

    format: str
    version: int
    bilm: BiLMConfig
    pretraining: dict[str, Any] | None = None


@dataclass(frozen=True)
class _Dictionary:
    """Contents of a dictionary.json."""

    begin: str
    end: str
    unknown: str
    words: dict[str, int]
    symbols: dict[str, int]


def native_folder(path: Path) -> Path | None:
    """The native folder, if the path is one, or its config.json, or a safetensors file in it; otherwise None."""
    folder = path if path.is_dir() else path.parent
    config = folder / CONFIG_NAME
    if path not in (folder, config) and kind_of(path) is not FileKind.SAFETENSORS:
        return None
    try:
        return folder if read_json(config, is_named=True).get("format") == BILM_FORMAT else None
    except (FormatError, FileNotFoundError):
        return None


def open_weights(folder: Path, *, with_softmax: bool = False) -> Weights:
    """Memory-map the weights of a native folder. The softmax is read into memory, but only if `with_softmax` is true.

    Raises FileNotFoundError if a file is missing, and FormatError, which names the file, if one is damaged.
    """
    path, vocabulary_path = folder / WEIGHTS_NAME, folder / VOCABULARY_NAME
    config, pretraining = read_config(folder / CONFIG_NAME)
    with naming_failed_download(path):
        layout = read_layout(path, dtypes=WEIGHTS.values())
    check_shapes(path, config, {name: entry.shape for name, entry in layout.tensors.items()})
    tensors = map_weights(path, layout, config.tensor_shapes())
    check_padding(path, config, tensors)
    vocabulary = read_vocabulary(vocabulary_path) if vocabulary_path.is_file() else None
    spelling = None if config.lookup is None else _read_dictionary(folder / DICTIONARY_NAME, config, layout.metadata)
    if with_softmax and (SOFTMAX_WEIGHT in layout.tensors or softmax_shards(folder)):
        tensors |= _read_softmax(path, config, layout)
    has_same_config = layout.metadata.get("config") == _config_digest(config)  # users may edit config.json
    fingerprint = layout.metadata.get("fingerprint") if has_same_config else None
    weights = Weights(config, tensors, vocabulary, pretraining, spelling, fingerprint)
    weights.check_spelling(folder / DICTIONARY_NAME)
    weights.check_softmax(vocabulary_path)
    return weights


def write_native(
    folder: Path,
    weights: Weights,
    *,
    dtype: str = "float32",
    softmax_dtype: str | None = None,
    max_file_bytes: int | None = None,
    card: str | None = None,
) -> None:
    """Write a model into a new folder, completely or not at all.

    dtype: float32 or float16.
    softmax_dtype: dtype of the softmax's weight, by default `dtype`. int8 stores a scale for each row.
    max_file_bytes: split the softmax into separate files of at most this size.
    card: text of README.md, by default the card from `card_of`.

    Raises FileExistsError for a folder that is not empty, and FormatError for weights that could not be read back.
    """
    softmax_dtype = softmax_dtype or dtype
    for name, given, known in (("dtype", dtype, WEIGHTS), ("softmax_dtype", softmax_dtype, SOFTMAX_DTYPES)):
        if given not in known:
            raise ValueError(f"{name} is {given!r}; expected {' or '.join(known)}")
    weights.check(folder)
    if "float16" in (dtype, softmax_dtype):
        _require_float16(folder, weights.tensors)
    config: dict[str, object] = {"format": BILM_FORMAT, "version": VERSION, "bilm": fields_of(weights.config)}
    config |= {} if weights.pretraining is None else {"pretraining": weights.pretraining}
    config_text = json_text(folder / CONFIG_NAME, config)
    is_separate = max_file_bytes is not None or softmax_dtype != dtype
    own = weights.without_softmax() if is_separate else weights
    arrays = {name: np.asarray(array, dtype) for name, array in own.tensors.items()}
    with new_folder(folder) as target:
        if is_separate and weights.has_softmax:
            _write_softmax(target, weights, dtype=softmax_dtype, max_file_bytes=max_file_bytes)
        write_arrays(target / WEIGHTS_NAME, arrays, metadata=METADATA | _identity(weights, arrays))
        write_text(target / CARD_NAME, card_of(weights) if card is None else card)
        if weights.vocabulary is not None:
            weights.vocabulary.write(target / VOCABULARY_NAME)
        if weights.spelling is not None:
            _write_dictionary(target / DICTIONARY_NAME, weights.spelling)
        write_text(target / CONFIG_NAME, config_text)


def read_config(path: Path) -> tuple[BiLMConfig, dict[str, object] | None]:
    """The biLM's config in a config.json, and how it was pretrained. Raises FormatError, which names the field."""
    values = read_json(path)
    if values.get("format") != BILM_FORMAT:
        raise FormatError(path, f'is not "{BILM_FORMAT}"', part="field format")
    if values.get("version") != VERSION:
        reason = f"is {values.get('version')}; this elmokit reads version {VERSION}, install a newer elmokit"
        raise FormatError(path, reason, part="field version")
    bilm = values.get("bilm")
    for field in fields(BiLMConfig) if isinstance(bilm, dict) else ():
        if field.name != "lookup" and field.name not in cast("dict[str, object]", bilm):
            raise FormatError(path, "is missing", part=f"field bilm.{field.name}")  # a default may not fit this model
    whole = as_type(values, _ConfigFile, where=path)
    return whole.bilm, whole.pretraining


def read_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary of a model. The file may unpack to at most 256 MiB, and may not be a link out of its folder.

    A file that `Vocabulary.read` refuses is read as bilm-tf reads it: white space around tokens is ignored, a token may
    be empty or contain NUL, and if a token occurs twice, its last row counts.
    """
    refuse_link_out(path)
    try:
        return Vocabulary.read(path, max_bytes=MAX_BYTES)
    except ValueError as error:
        chunks: Any = read_chunks(path)
        content = b"".join(cast("Iterable[bytes]", up_to(MAX_BYTES, chunks, path)))
        try:
            lines = content.decode("utf-8-sig").removesuffix("\n").split("\n")
            return Vocabulary((line.strip() for line in lines if line.strip() != SKIPPED_LINE), is_published=True)
        except ValueError:
            raise error from None


def fields_of(config: BiLMConfig) -> dict[str, object]:
    """The config as JSON values."""
    values: dict[str, object] = asdict(config)
    if config.lookup is None:
        del values["lookup"]
    return values | {"filters": [list(pair) for pair in config.filters]}


@contextmanager
def replacing_saved(folder: Path) -> Generator[None]:
    """Move a model from `write_native` out of the way of a new one, and move it back if writing fails.

    A folder that contains other files is left alone, so that `write_native` refuses it.
    """
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set[str]()
    is_saved = CONFIG_NAME in names
    if not is_saved or not names <= {CONFIG_NAME, WEIGHTS_NAME, VOCABULARY_NAME, DICTIONARY_NAME, CARD_NAME}:
        yield
        return
    with temporary_folder(folder.resolve(), named=folder) as aside:
        os.replace(folder, aside / "saved")
        try:
            yield
        except BaseException:
            os.replace(aside / "saved", folder)
            raise


def card_of(weights: Weights, *, name: str = "this folder") -> str:
    """A model card made from the weights: metadata for the Hub, sizes, and how to open the model."""
    config = weights.config
    softmax = "with its softmax" if weights.has_softmax else "without its softmax"
    return (
        f"{_CARD_METADATA}# A biLM for elmokit\n\n"
        f"{config.num_parameters:,} parameters ({softmax}): {config.num_layers} LSTM layers of {config.lstm_dim} cells "
        f"projected to {config.projection_dim}, {config.num_filters} character filters, "
        f"{config.num_highway_layers} highway layers.\n\n"
        f"```python\nfrom elmokit import Elmo\n\nelmo = Elmo.from_pretrained('{name}')\n```\n\n"
        "To be added by the author: the training text, its licence, and what the model is fit for.\n"
    )


def _identity(weights: Weights, arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """The fingerprint of the model as it is written, and digests of its config and dictionary."""
    config, spelling = weights.config, weights.spelling
    read_again = ((name, np.asarray(arrays[name], np.float32)) for name in sorted(config.tensor_shapes()))
    identity = {"fingerprint": fingerprint_of(config, read_again, spelling), "config": _config_digest(config)}
    return identity | ({} if spelling is None else {"dictionary": _dictionary_digest(spelling)})


def _config_digest(config: BiLMConfig) -> str:
    return hashlib.blake2b(f"{config.text()} {config.lookup}".encode(), digest_size=16).hexdigest()


def _dictionary_digest(spelling: DictionarySpelling) -> str:
    return hashlib.blake2b(repr(spelling).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _write_dictionary(path: Path, spelling: DictionarySpelling) -> None:
    values = {name: getattr(spelling, name) for name in _Dictionary.__annotations__}
    write_text(path, json.dumps(values, indent=0) + "\n")


def _read_dictionary(path: Path, config: BiLMConfig, metadata: Mapping[str, str]) -> DictionarySpelling:
    """Read and check a dictionary.json. Raises FormatError, naming the file, also if it does not fit the weights."""
    assert config.lookup is not None
    most = min(_MAX_DICTIONARY_BYTES, _BYTES_PER_ROW * (config.lookup.num_words + config.lookup.num_symbols) + _SMALL)
    read = read_json(path, _Dictionary, max_bytes=most)
    try:
        spelling = DictionarySpelling(max_characters_per_token=config.max_characters_per_token, **vars(read))
    except ValueError as error:
        raise FormatError(path, str(error)) from error
    if metadata.get("dictionary", digest := _dictionary_digest(spelling)) != digest:  # older models have none
        raise FormatError(path, f"does not belong to {WEIGHTS_NAME}: it is damaged, or of another version of the model")
    return spelling


def _require_float16(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    for name, array in tensors.items():
        largest = max(float(array.max(initial=0)), -float(array.min(initial=0)))
        if largest > float(np.finfo(np.float16).max):
            raise FormatError(path, f"has a value of {largest:g}, too large for float16: write float32", part=name)


def softmax_shards(folder: Path) -> list[Path]:
    """The separate files of the softmax, in row order. Empty if the softmax is in model.safetensors or absent."""
    return sorted(path for path in folder.iterdir() if _SHARD.fullmatch(path.name))


def softmax_files(weights: Path, config: BiLMConfig, layout: Layout) -> dict[Path, Layout]:
    """The files that contain the softmax, in row order, with their checked layouts.

    layout: the layout of `weights`, a model.safetensors. The softmax must be in it or in shards next to it.
    """
    shards = softmax_shards(weights.parent)
    if SOFTMAX_WEIGHT in layout.tensors:
        if shards:
            raise FormatError(shards[0], f"is a part of the softmax, but {weights.name} also contains a softmax")
        return {weights: layout}
    total = int(shards[0].stem.rpartition("-")[2])
    expected = [weights.with_name(_shard_name(number, total)) for number in range(1, total + 1)]
    for path in sorted({*shards} ^ {*expected}):
        reason = "is missing" if path in expected else "is one too many"
        raise FormatError(path, f"{reason}; {shards[0].name} says that the softmax has {plural(total, 'part')}")
    files: dict[Path, Layout] = {}
    for shard in shards:
        with naming_failed_download(shard):
            files[shard] = read_layout(shard, dtypes=_DTYPES_IN_SHARDS)
        _check_shard(shard, files[shard].tensors, config)
    return files


def _read_softmax(weights: Path, config: BiLMConfig, layout: Layout) -> dict[str, Array]:
    """Weight (V,D) and bias (V,) in float32, from the files that `softmax_files` returns."""
    pieces: list[dict[str, Array]] = []
    for file, layout_of_file in softmax_files(weights, config, layout).items():
        names = layout_of_file.tensors.keys() & {*SOFTMAX_NAMES, SOFTMAX_SCALE}
        mapped = map_weights(file, layout_of_file, names)
        tensors = {name: np.asarray(array, np.float32) for name, array in mapped.items()}
        if SOFTMAX_SCALE in tensors:
            tensors[SOFTMAX_WEIGHT] *= tensors.pop(SOFTMAX_SCALE)[:, None]
        pieces.append(tensors)
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece.pop(name) for piece in pieces]) for name in SOFTMAX_NAMES}


def _write_softmax(folder: Path, model: Weights, *, dtype: str, max_file_bytes: int | None) -> None:
    """Split the softmax by rows into separate files of at most `max_file_bytes`. None writes one file."""
    weight, bias = model.tensors[SOFTMAX_WEIGHT], model.tensors[SOFTMAX_BIAS]
    rows = len(bias)
    if max_file_bytes is not None:
        dim = weight.shape[1]  # in int8, the bias and the row's scale are float32
        row_bytes = dim + 2 * 4 if dtype == "int8" else (dim + 1) * np.dtype(dtype).itemsize
        most = (max_file_bytes - _HEADER_ROOM) // row_bytes
        if most < 1:
            raise ValueError(f"max_file_bytes is {max_file_bytes}; a single row of the softmax needs more")
        rows = ceil(rows / ceil(rows / most))
    starts = range(0, len(bias), rows)
    for number, start in enumerate(starts, start=1):
        own_weight, own_bias = weight[start : start + rows], bias[start : start + rows]
        if dtype == "int8":
            steps, scale = as_int8(own_weight)
            arrays = {SOFTMAX_WEIGHT: steps, SOFTMAX_SCALE: scale, SOFTMAX_BIAS: own_bias}
        else:
            arrays = {SOFTMAX_WEIGHT: np.asarray(own_weight, dtype), SOFTMAX_BIAS: np.asarray(own_bias, dtype)}
        write_arrays(folder / _shard_name(number, len(starts)), arrays, metadata=METADATA)


def _check_shard(shard: Path, entries: Mapping[str, TensorEntry], config: BiLMConfig) -> None:
    """Raise FormatError unless the tensors are a weight and a bias, plus the rows' scales if the weight is int8."""
    rows = entries[SOFTMAX_BIAS].shape[:1] if SOFTMAX_BIAS in entries else ()
    expected = {SOFTMAX_WEIGHT: (*rows, config.projection_dim), SOFTMAX_BIAS: rows}
    in_int8 = [name for name, entry in entries.items() if entry.dtype == INT8]
    if in_int8:
        expected[SOFTMAX_SCALE] = rows
    if {name: entry.shape for name, entry in entries.items()} != expected or in_int8 not in ([], [SOFTMAX_WEIGHT]):
        found = printable(str({name: (entry.dtype, *entry.shape) for name, entry in entries.items()}))
        raise FormatError(shard, f"holds {found}; expected {expected}; only {SOFTMAX_WEIGHT} may be in {INT8}")


def as_int8(vectors: Array) -> tuple[NDArray[np.int8], Array]:
    """Each vector as integers from -127 to 127, in units of its scale, and the scales."""
    scales = np.abs(vectors).max(axis=-1) / np.float32(_LARGEST)
    steps = vectors / np.where(scales > 0, scales, 1)[..., None]
    return np.rint(steps).clip(-_LARGEST, _LARGEST).astype(np.int8), scales


def _shard_name(number: int, total: int) -> str:
    return f"softmax-{number:05d}-of-{total:05d}.safetensors"
