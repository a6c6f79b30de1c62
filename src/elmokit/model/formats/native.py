"""The native format: a folder with config.json, model.safetensors, vocabulary.txt and a model card, README.md.

The softmax is in model.safetensors, or split by rows into softmax-00001-of-0000N.safetensors. It may be absent; then
perplexity, and fine-tuning with the same vocabulary, are not possible.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from elmokit.model.formats.containers.safetensors import (
    DTYPES,
    read_header,
    read_tensors,
    require_float16,
    write_tensors,
)
from elmokit.model.formats.containers.vocabulary import read_vocabulary
from elmokit.model.formats.file_kinds import FileKind, kind_of
from elmokit.model.formats.folder import is_free, new_folder, write_text
from elmokit.model.formats.format import Format, WriteSettings
from elmokit.model.formats.sizes import config_of, fields_of
from elmokit.model.formats.stored import (
    PADDING_TOKEN,
    SOFTMAX_BIAS,
    SOFTMAX_NAMES,
    SOFTMAX_WEIGHT,
    Array,
    StoredBiLM,
    wrong_shapes,
)
from elmokit.runs.folder import BILM_FORMAT
from elmokit.system.json_fields import Fields, json_text, read_json_object
from elmokit.system.locks import lock
from elmokit.system.safetensors import TensorEntry
from elmokit.system.untrusted import FormatError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from elmokit.model.config import BiLMConfig
    from elmokit.model.formats.inspection import Inspection
    from elmokit.model.formats.model_files import ModelFiles

VERSION = 1
CONFIG_NAME = "config.json"
WEIGHTS_NAME = "model.safetensors"
VOCABULARY_NAME = "vocabulary.txt"
CARD_NAME = "README.md"
_SHARD = re.compile(r"softmax-(\d{5})-of-(\d{5})\.safetensors")
_HEADER_ROOM = 1024  # bytes for the header entries of four tensors


@dataclass(frozen=True)
class NativeConfig:
    """Contents of config.json."""

    bilm: BiLMConfig
    pretraining: dict[str, object] | None


def folder_of(path: Path) -> Path:
    """The folder of a model, given the folder or a file in it."""
    return path.parent if path.is_file() else path


def read_config(path: Path) -> NativeConfig:
    """Read and check a config.json. Raises FormatError, which names the field."""
    fields = Fields(path, read_json_object(path))
    if fields.value("format") != BILM_FORMAT:
        raise fields.error("format", f'is not "{BILM_FORMAT}"')
    version = fields.integer("version", least=1, most=1 << 31)
    if version != VERSION:
        raise fields.error("version", f"is {version}; this elmokit reads version {VERSION}, install a newer elmokit")
    fields.require_known(("format", "version", "bilm", "pretraining"))
    pretraining = fields.object("pretraining") if "pretraining" in fields else None
    return NativeConfig(bilm=config_of(fields.fields("bilm")), pretraining=pretraining)


def _recognise(files: ModelFiles) -> bool:
    """Whether it is a folder with a config.json of elmokit, or a config or file of weights in such a folder."""
    if files.weights is not None:
        return False
    if not files.is_folder and files.given[files.path] not in (FileKind.SAFETENSORS, FileKind.NATIVE_CONFIG):
        return False
    config = files.folder / CONFIG_NAME
    return config.is_file() and kind_of(config) is FileKind.NATIVE_CONFIG


def _read(files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM:
    return read_native(files.folder, with_softmax=has_softmax(files.folder) if with_softmax is None else with_softmax)


def read_native(path: Path, *, with_softmax: bool = False) -> StoredBiLM:
    """Read a folder (or the folder of a file in it). Without `with_softmax`, the softmax is not read from disk.

    Weights stored as float16 are converted to float32. Raises FormatError if the files are not a biLM, or have no
    softmax although `with_softmax` is set.
    """
    folder = folder_of(path)
    config = read_config(folder / CONFIG_NAME)
    weights = folder / WEIGHTS_NAME
    header = read_header(weights)
    for refusal in wrong_shapes(weights, config.bilm, {name: entry.shape for name, entry in header.items()}):
        raise refusal
    tensors = read_tensors(weights, config.bilm.tensor_shapes())
    if tensors[PADDING_TOKEN][0].any():
        raise FormatError(weights, "row 0 is for padding tokens and must be zeros", part=PADDING_TOKEN)
    vocabulary_path = folder / VOCABULARY_NAME
    vocabulary = read_vocabulary(vocabulary_path) if vocabulary_path.is_file() else None
    if with_softmax:
        files = softmax_files(folder, config.bilm, header)
        num_rows = sum(entries[SOFTMAX_BIAS].shape[0] for entries in files.values())
        if vocabulary is not None and len(vocabulary) != num_rows:
            raise FormatError(vocabulary_path, f"has {len(vocabulary)} tokens, but the softmax has {num_rows} rows")
        pieces = [read_tensors(file, SOFTMAX_NAMES) for file in files]
        for name in SOFTMAX_NAMES:
            tensors[name] = (
                np.concatenate([piece.pop(name) for piece in pieces]) if len(pieces) > 1 else pieces[0][name]
            )
    return StoredBiLM(config=config.bilm, tensors=tensors, vocabulary=vocabulary, pretraining=config.pretraining)


def has_softmax(path: Path) -> bool:
    """Whether the model has a softmax, complete or not."""
    folder = folder_of(path)
    return bool(_shards(folder)) or SOFTMAX_WEIGHT in read_header(folder / WEIGHTS_NAME)


def softmax_files(
    folder: Path, config: BiLMConfig, header: dict[str, TensorEntry]
) -> dict[Path, dict[str, TensorEntry]]:
    """The files that contain the softmax, in the order of its rows, with their checked headers."""
    shards = _shards(folder)
    weights = folder / WEIGHTS_NAME
    if SOFTMAX_WEIGHT in header:
        if shards:
            raise FormatError(shards[0], f"is a part of the softmax, but {WEIGHTS_NAME} also contains a softmax")
        return {weights: header}
    if not shards:
        raise FormatError(
            folder, "has no softmax (perplexity and fine-tuning need it): the model was saved or installed without one"
        )
    total = int(_numbers(shards[0])[1])
    for number in range(1, total + 1):
        name = _shard_name(number, total)
        if not (folder / name).exists():
            raise FormatError(folder / name, f"is missing; the softmax has {total} parts")
    if len(shards) != total:
        raise FormatError(folder, f"has {len(shards)} softmax files; {shards[0].name} says {total}")
    files = {shard: read_header(shard) for shard in shards}
    for shard, entries in files.items():
        num_rows = entries[SOFTMAX_BIAS].shape[:1] if SOFTMAX_BIAS in entries else ()
        found = {name: entry.shape for name, entry in entries.items()}
        expected = {SOFTMAX_WEIGHT: (*num_rows, config.projection_dim), SOFTMAX_BIAS: num_rows}
        if found != expected or not num_rows:
            raise FormatError(shard, f"holds {found}; expected {expected}")
    return files


def write_native(
    folder: Path,
    stored: StoredBiLM,
    *,
    dtype: str = "float32",
    include_softmax: bool = True,
    max_file_bytes: int | None = None,
    card: str | None = None,
) -> None:
    """Write a model. With `max_file_bytes`, the softmax is split into separate files that are not larger.

    A new folder is written completely or not at all. In a folder that already holds a native model, each file is
    replaced atomically, config.json last. Raises FileExistsError for any other folder that is not empty. `card` is the
    text of README.md; by default a short one is written, unless the folder has one.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; expected {' or '.join(DTYPES)}")
    stored = stored if include_softmax else stored.without_softmax()
    stored.check(folder)
    if dtype == "float16":
        require_float16(folder, stored.tensors)
    config = _config_text(folder / CONFIG_NAME, stored)
    shards = list(_split_softmax(stored, np.dtype(dtype).itemsize, max_file_bytes))
    own = stored.without_softmax().tensors if shards else stored.tensors
    num_bytes = (
        _HEADER_ROOM * (1 + len(own) // 4) + sum(array.size for array in own.values()) * np.dtype(dtype).itemsize
    )
    if max_file_bytes is not None and num_bytes > max_file_bytes:
        raise ValueError(f"{WEIGHTS_NAME} takes {num_bytes} bytes in {dtype}; max_file_bytes is {max_file_bytes}")
    with _target(folder) as target:
        for number, shard in enumerate(shards, start=1):
            write_tensors(target / _shard_name(number, len(shards)), shard, dtype=dtype)
        write_tensors(target / WEIGHTS_NAME, own, dtype=dtype)
        if card is not None or not (target / CARD_NAME).exists():
            write_text(target / CARD_NAME, card if card is not None else _short_card(stored))
        if stored.vocabulary is not None:
            stored.vocabulary.write(target / VOCABULARY_NAME)
        else:
            (target / VOCABULARY_NAME).unlink(missing_ok=True)
        for old in _shards(target):
            if int(_numbers(old)[1]) != len(shards):
                old.unlink()
        write_text(target / CONFIG_NAME, config)


def _write(folder: Path, stored: StoredBiLM, settings: WriteSettings) -> list[str]:
    write_native(folder, stored, dtype=settings.dtype, max_file_bytes=settings.max_file_bytes)
    return []


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    folder = files.folder
    config_path, weights = folder / CONFIG_NAME, folder / WEIGHTS_NAME
    inspection.add_file(config_path)
    with inspection.noting_refusals():
        inspection.config = read_config(config_path).bilm
    header: dict[str, TensorEntry] | None = None
    with inspection.noting_refusals():
        inspection.add_file(weights)
        header = read_header(weights)
        inspection.dtypes = _dtypes(header)
    if inspection.config is not None and header is not None:
        shapes = {name: entry.shape for name, entry in header.items()}
        inspection.refusals += [str(refusal) for refusal in wrong_shapes(weights, inspection.config, shapes)]
        if has_softmax(folder):
            with inspection.noting_refusals():
                parts = softmax_files(folder, inspection.config, header)
                inspection.num_softmax_rows = sum(entries[SOFTMAX_BIAS].shape[0] for entries in parts.values())
                for part in parts:
                    inspection.add_file(part)
    if (folder / CARD_NAME).is_file():
        inspection.add_file(folder / CARD_NAME)
    else:
        inspection.risks.append(f"there is no model card ({CARD_NAME}): data and licence are not known")
    if (folder / VOCABULARY_NAME).is_file():
        inspection.add_vocabulary(folder / VOCABULARY_NAME)


def _dtypes(header: dict[str, TensorEntry]) -> list[str]:
    names = {code: name for name, code in DTYPES.items()}
    return sorted({names[entry.dtype] for name, entry in header.items() if name not in SOFTMAX_NAMES})


def _config_text(path: Path, stored: StoredBiLM) -> str:
    values: dict[str, object] = {"format": BILM_FORMAT, "version": VERSION, "bilm": fields_of(stored.config)}
    if stored.pretraining is not None:
        values["pretraining"] = stored.pretraining
    return json_text(path, values)


@contextmanager
def _target(folder: Path) -> Generator[Path]:
    if is_free(folder):
        with new_folder(folder) as staging:
            yield staging
    elif (folder / CONFIG_NAME).is_file() and kind_of(folder / CONFIG_NAME) is FileKind.NATIVE_CONFIG:
        with lock(folder):
            yield folder
    else:
        raise FileExistsError(f"{folder} exists and does not hold a native model; choose another folder or remove it")


def _split_softmax(stored: StoredBiLM, item_bytes: int, max_file_bytes: int | None) -> Iterator[dict[str, Array]]:
    if max_file_bytes is None or not stored.has_softmax:
        return
    weight, bias = stored.tensors[SOFTMAX_WEIGHT], stored.tensors[SOFTMAX_BIAS]
    most = (max_file_bytes - _HEADER_ROOM) // ((weight.shape[1] + 1) * item_bytes)
    if most < 1:
        raise ValueError(f"max_file_bytes is {max_file_bytes}; a single row of the softmax needs more")
    num_parts = ceil(len(bias) / most)
    rows = ceil(len(bias) / num_parts)
    for start in range(0, len(bias), rows):
        yield {SOFTMAX_WEIGHT: weight[start : start + rows], SOFTMAX_BIAS: bias[start : start + rows]}


def _shards(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if _SHARD.fullmatch(path.name))


def _shard_name(number: int, total: int) -> str:
    return f"softmax-{number:05d}-of-{total:05d}.safetensors"


def _numbers(shard: Path) -> tuple[str, str]:
    match = _SHARD.fullmatch(shard.name)
    assert match is not None
    return match[1], match[2]


def _short_card(stored: StoredBiLM) -> str:
    config = stored.config
    softmax = "with its softmax" if stored.has_softmax else "without its softmax"
    return (
        "# A biLM for elmokit\n\n"
        f"{config.num_parameters:,} parameters ({softmax}): {config.num_layers} LSTM layers of {config.lstm_dim} cells "
        f"projected to {config.projection_dim}, {config.num_filters} character filters, "
        f"{config.num_highway_layers} highway layers.\n\n"
        "```python\nfrom elmokit import Elmo\n\nelmo = Elmo.from_pretrained('this folder')\n```\n\n"
        "To be added by the author: the training text, its licence, and what the model is fit for.\n"
    )


NATIVE = Format(
    name="native",
    description="native (config.json, safetensors)",
    recognise=_recognise,
    inspect=_inspect,
    read=_read,
    write=_write,
    dtypes=tuple(DTYPES),
    splits_files=True,
)
