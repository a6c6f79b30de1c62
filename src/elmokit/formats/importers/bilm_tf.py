"""The files of bilm-tf: the released pair, which AllenNLP also reads, training checkpoints, and cached token vectors.

The pair is an `options.json` and an HDF5 file of weights, with any names. One table serves to read and write it
(`layouts.py`). The pair cannot store the softmax. The vocabulary is not part of it, but may be in the same folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from elmokit.files.hdf5 import HDF5File
from elmokit.files.json import as_type, read_json
from elmokit.files.tensor_bundle import TensorBundle, has_data, latest_index
from elmokit.files.weights_file import Array, Entry, JoinedFiles, WeightsFile
from elmokit.formats.file_kinds import ADVICE, FileKind
from elmokit.formats.importers.layouts import (
    AT_PREDICTION,
    LSTM_ROOTS,
    STORED_TRAINING_OPTIONS,
    TRAINING_OPTIONS,
    WORDS,
    Row,
    bilm_tf_rows,
    read_native,
    softmax_rows,
)
from elmokit.formats.importers.sources import Imported, IncompleteError, Sources, read_words, wrong_kind
from elmokit.model.config import MAX_CHARACTERS, BiLMConfig, LookupConfig
from elmokit.model.weights import Weights
from elmokit.system.messages import FormatError, join_names

PAIR = "bilm-tf / AllenNLP (options.json, HDF5)"
CHECKPOINT = "bilm-tf checkpoint (options.json, TensorFlow 1)"
TOKEN_VECTORS = "bilm-tf with cached token vectors (options.json, two HDF5 files, vocabulary)"
_ROOTS = ("char_embed", "CNN", "RNN", "rnn/")
"""Datasets whose names begin with one of these are part of the biLM."""


@dataclass(frozen=True)
class Pair:
    """The two files."""

    options: Path
    weights: Path
    is_named: bool = False
    """Whether the user named the options file; otherwise it was found in the folder."""


@dataclass(frozen=True)
class Options:
    """Contents of an options.json."""

    config: BiLMConfig
    pretraining: dict[str, object] | None
    """The training options as `Weights` keeps them."""
    says_direction: bool
    """Whether the file has the key `bidirectional`; the released files do not."""
    risks: list[str]


def load_pair(sources: Sources) -> Imported | None:
    """The pair, if one of the files is an options.json or HDF5. Raises FormatError if the other one is missing."""
    if not any(kind in (FileKind.OPTIONS, FileKind.HDF5) for kind in sources.given.values()):
        return None
    pair = find_pair(sources)
    options = read_options(pair.options, is_named=pair.is_named)
    config, tensors, dtypes = _read_weights(HDF5File(pair.weights), options)
    risks = [*options.risks]
    nearby = sources.in_folder if sources.weights is None or config.lookup is not None else {}  # a lookup needs words
    try:
        words = read_words(pair.weights, config, nearby, risks)
    except ValueError as error:
        if config.lookup is not None:
            raise
        advice = "vectors do not need it: give options and weights as two files (--weights) to leave it out"
        raise ValueError(f"{error}; {advice}") from error
    weights = Weights(config, tensors, words.vocabulary, options.pretraining, words.spelling)
    return Imported(weights, [pair.options, pair.weights, *words.files], dtypes, risks)


def load_checkpoint(sources: Sources) -> Imported | None:
    """A checkpoint of TensorFlow 1, if the user gave an index, a list of checkpoints, options, or a folder with them.

    A checkpoint has the softmax. The import leaves out the optimiser's slots, the step and the training perplexity.
    """
    if not _is_checkpoint(sources):
        return None
    kinds = sources.nearby
    indices = _of_kind(sources.given, FileKind.TENSORFLOW_INDEX) or _of_kind(kinds, FileKind.TENSORFLOW_INDEX)
    listings = _of_kind(kinds, FileKind.TENSORFLOW_CHECKPOINT)
    given_options = dict.fromkeys(_of_kind(sources.given, FileKind.OPTIONS), FileKind.OPTIONS)
    options_path = _only_options(sources.path, given_options or kinds, weights=FileKind.TENSORFLOW_INDEX.value)
    index = latest_index(indices, listings[0] if listings else None)
    options, bundle = read_options(options_path), TensorBundle(index, root="lm/")
    config, tensors, dtypes = _read_weights(bundle, options)
    words = read_words(index, config, kinds, risks := [*options.risks])
    weights = Weights(config, tensors, words.vocabulary, options.pretraining, words.spelling)
    weights.check_softmax(index)
    return Imported(weights, [options_path, index, *bundle.files, *words.files], dtypes, risks)


def load_token_vectors(sources: Sources) -> Imported | None:
    """Cached vectors (`dump_token_embeddings`), if the user gave an HDF5 file of them and the options.json of a pair.

    Words outside the vocabulary become <UNK>. If the char encoder is available, open the model without these vectors.
    """
    kinds = sources.given
    if sources.weights is None or {*kinds.values()} != {FileKind.OPTIONS, FileKind.HDF5}:
        return None
    options_path, path = sorted(kinds, key=lambda file: kinds[file] is FileKind.HDF5)
    tokens = HDF5File(path)
    if WORDS not in tokens.entries or _holds_weights(tokens.entries):
        return None
    nearby = Sources(options_path)
    pair = find_pair(nearby)
    options = read_options(pair.options, is_named=pair.is_named)
    options = replace(options, config=replace(options.config, **_words_instead(options.config.projection_dim)))
    joined = JoinedFiles(path, HDF5File(pair.weights), tokens)
    config, tensors, dtypes = _read_weights(joined, options, is_partial=True)
    words = read_words(path, config, nearby.in_folder, risks := [*options.risks])
    weights = Weights(config, tensors, words.vocabulary, spelling=words.spelling)
    return Imported(weights, [pair.options, pair.weights, path, *words.files], dtypes, risks)


def _is_checkpoint(sources: Sources) -> bool:
    """Whether to read a checkpoint. HDF5 weights next to it lack the softmax; if the user names them, they are read."""
    kinds, nearby = {*sources.given.values()}, sources.nearby
    indices = _of_kind(nearby, FileKind.TENSORFLOW_INDEX)
    if not indices or not kinds & {FileKind.TENSORFLOW_INDEX, FileKind.TENSORFLOW_CHECKPOINT, FileKind.OPTIONS}:
        return False
    if FileKind.HDF5 not in nearby.values() or FileKind.OPTIONS not in kinds:
        return True
    return (sources.is_folder or FileKind.HDF5 not in kinds) and any(map(has_data, indices))


def _of_kind(kinds: dict[Path, FileKind], wanted: FileKind) -> list[Path]:
    return [path for path, kind in kinds.items() if kind is wanted]


def find_pair(sources: Sources) -> Pair:
    """The options and weights. The user gives both files, one file with the other next to it, or their folder."""
    path = sources.path
    if sources.weights is None:
        kinds = sources.in_folder
        options = path if kinds.get(path) is FileKind.OPTIONS else _only_options(path, kinds, weights="weights in HDF5")
        weights = path if kinds.get(path) is FileKind.HDF5 else _only_weights(path, kinds)
        return Pair(options, weights, is_named=options == path)
    kinds, options, weights = sources.given, path, sources.weights
    if kinds[options] is FileKind.HDF5 and kinds[weights] is not FileKind.HDF5:
        options, weights = weights, options
    if kinds[options] not in (FileKind.OPTIONS, FileKind.BROKEN_JSON):  # reading reports broken JSON
        raise wrong_kind(options, kinds[options], expected=FileKind.OPTIONS.value)
    if kinds[weights] is not FileKind.HDF5:
        raise wrong_kind(weights, kinds[weights], expected="the HDF5 file of weights that belongs to it")
    return Pair(options, weights, is_named=True)


def _only_options(path: Path, kinds: dict[Path, FileKind], *, weights: str) -> Path:
    """The options.json among these files, or else broken JSON. `weights` names, in errors, what the options are for."""
    found = [file for file, kind in kinds.items() if kind is FileKind.OPTIONS]
    found = found or [file for file, kind in kinds.items() if kind is FileKind.BROKEN_JSON][:1]
    if not found:
        raise IncompleteError(path, f"is or holds {weights}, but there is no options.json of bilm-tf next to it")
    return _only(path, found, "options.json files")


def _only_weights(path: Path, kinds: dict[Path, FileKind]) -> Path:
    """The HDF5 file of weights among these files. Other HDF5 files next to it, and damaged ones, are ignored."""
    found = [file for file, kind in kinds.items() if kind is FileKind.HDF5]
    if not found:
        others = [file for file, kind in kinds.items() if kind in ADVICE]
        if others:
            raise wrong_kind(others[0], kinds[others[0]], expected="an HDF5 file of weights")
        raise IncompleteError(path, "has an options.json, but there is no HDF5 file of weights next to it")
    if len(found) == 1:
        return found[0]
    weights: list[Path] = []
    damaged: list[FormatError] = []
    for candidate in found:
        try:
            weights += [candidate] if _holds_weights(HDF5File(candidate).entries) else []
        except FormatError as error:
            damaged.append(error)
    if weights:
        return _only(path, weights, "HDF5 files of weights")
    reason = "holds no HDF5 file with a biLM's weights; give the options and the weights as two files"
    raise damaged[0] if damaged else IncompleteError(path, reason)


def _only(path: Path, files: list[Path], what: str) -> Path:
    """The file with the name of `path`, ignoring the words `options` and `weights`, or else the only file."""
    names = [re.sub("options|weights", "", file.stem.lower()) for file in (path, *files)]
    twins = [file for file, name in zip(files, names[1:], strict=True) if name == names[0] and not path.is_dir()]
    if len(twins or files) > 1:
        listed = join_names(file.name for file in twins or files)
        raise FormatError(path, f"holds several {what}: {listed}; give the options and the weights as two files")
    return (twins or files)[0]


class _Lstm(Struct):
    dim: int
    projection_dim: int
    n_layers: int = 1
    cell_clip: float | None = None
    proj_clip: float | None = None
    use_skip_connections: bool = False


class _Embedding(Struct):
    dim: int


class _CharCnn(Struct):
    filters: tuple[tuple[int, int], ...]
    embedding: _Embedding
    max_characters_per_token: int
    activation: str
    n_characters: int = AT_PREDICTION
    n_highway: int | None = None


class _OptionsFile(Struct):
    """The keys and defaults of bilm-tf and AllenNLP."""

    lstm: _Lstm
    char_cnn: _CharCnn | None = None
    bidirectional: bool = True


def read_options(path: Path, *, is_named: bool = False) -> Options:
    """Read an options.json with the keys and defaults of bilm-tf and AllenNLP, and check it, including all sizes.

    is_named: the user named this file, so it may be a link out of its folder.
    """
    values = read_json(path, is_named=is_named)
    training = {name: values.pop(name) for name in TRAINING_OPTIONS if name in values}
    read = as_type(values, _OptionsFile, where=path)
    lstm, characters, risks = read.lstm, read.char_cnn, list[str]()
    for name, value in (("cell_clip", lstm.cell_clip), ("proj_clip", lstm.proj_clip)):
        if value == 0:
            risks.append(f"lstm.{name} is 0: read as no clipping, as AllenNLP does; bilm-tf clips everything to 0")
    try:
        config = BiLMConfig(
            **(_words_instead(lstm.projection_dim) if characters is None else _sizes_of_characters(characters)),
            projection_dim=lstm.projection_dim,
            lstm_dim=lstm.dim,
            num_layers=lstm.n_layers,
            cell_clip=lstm.cell_clip or None,
            projection_clip=lstm.proj_clip or None,
            use_skip_connections=lstm.use_skip_connections,
            bidirectional=read.bidirectional,
        )
    except ValueError as error:
        raise FormatError(path, str(error)) from error
    kept = {name: value for name, value in training.items() if not isinstance(value, list | dict)}
    if unknown := sorted(_unknown_fields(values, msgspec.to_builtins(read))):
        risks.append(f"{path.name} has unknown fields, which are ignored: {', '.join(unknown)}")
    return Options(config, {STORED_TRAINING_OPTIONS: kept} if kept else None, "bidirectional" in values, risks)


def _unknown_fields(values: dict[str, Any], known: dict[str, Any], *, prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if name not in known:
            yield f"{prefix}{name}"
        elif isinstance(value, dict):
            yield from _unknown_fields(cast("dict[str, Any]", value), known[name], prefix=f"{prefix}{name}.")


def _sizes_of_characters(characters: _CharCnn) -> dict[str, Any]:
    return {
        "filters": characters.filters,
        "character_dim": characters.embedding.dim,
        "num_characters": characters.n_characters,
        "max_characters_per_token": characters.max_characters_per_token,
        "activation": characters.activation,
        "num_highway_layers": characters.n_highway or 0,
    }


def _words_instead(width: int) -> dict[str, Any]:
    """The config's fields for a model without a char_cnn. It reads whole words; the weights say how many there are."""
    lookup = LookupConfig(num_words=1, word_dim=width, num_symbols=0, padding_symbol=0, projects=False)
    most = MAX_CHARACTERS  # words are not cut
    return {"filters": (), "num_highway_layers": 0, "max_characters_per_token": most, "lookup": lookup}


def _read_weights(
    file: WeightsFile, options: Options, *, is_partial: bool = False
) -> tuple[BiLMConfig, dict[str, Array], list[str]]:
    """The config, all weights by native name (with the softmax if it is in the file), and their dtypes in the file.

    is_partial: whether the file may hold other parts of a biLM than the options call for.
    """
    for name, entry in file.entries.items():
        if not entry.is_array:
            raise FormatError(file.path, entry.refusal or "is not a dataset", part=name)
    config, table = _layout_of(options, file.entries)
    names = {row.name for row in table}
    for name in () if is_partial else file.entries:
        is_slot = name.rpartition("/")[0] in names  # a checkpoint's optimiser state: `char_embed/Adagrad`
        if name.startswith(_ROOTS) and name not in names and not is_slot:
            raise FormatError(
                file.path, "is not in the model that options.json describes: they are not a pair", part=f"tensor {name}"
            )
    return config, *read_native(table, file)


def _layout_of(options: Options, entries: Mapping[str, Entry]) -> tuple[BiLMConfig, list[Row]]:
    """The config and its table, which fit both the options and the names in a file.

    If a model reads words, only the file says how many there are. If the options do not say whether the model is
    bidirectional, it has two directions, as in every other loader. The exception is a dump of a forward model: its
    names contain no RNN_0.
    """
    config = options.config
    if not options.says_direction and not any(name.startswith("RNN_") for name in entries):
        forward_only = tuple(f"{root}/" for root in LSTM_ROOTS)
        config = replace(config, bidirectional=not any(name.startswith(forward_only) for name in entries))
    if config.lookup is not None and WORDS in entries:
        num_words = next(iter(entries[WORDS].shape), 0)
        config = replace(config, lookup=replace(config.lookup, num_words=max(num_words, 1)))
    return config, [*bilm_tf_rows(config, entries), *softmax_rows(config, entries)]


def _holds_weights(names: Iterable[str]) -> bool:
    """Whether the names belong to a biLM, complete or not."""
    return any(name.startswith(_ROOTS) for name in names)
