"""bilm-tf's cached token vectors (`dump_token_embeddings`): the LSTMs of a released pair, and vectors of a vocabulary.

Given as two files: the options.json, with weights and vocabulary in its folder, and an HDF5 file of token vectors.
Words that are not in the vocabulary are <UNK>, so a model whose char encoder is there is better opened without them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from elmokit.files.hdf5 import HDF5File, open_hdf5
from elmokit.files.weights_file import Array
from elmokit.formats.bilm_tf import (
    LSTM_ROOTS,
    WORDS,
    Options,
    find_pair,
    holds_weights,
    inspect_weights,
    read_options,
    read_weights,
    words_instead,
)
from elmokit.formats.file_kinds import FileKind
from elmokit.formats.format import Format, Inspection
from elmokit.formats.model_files import ModelFiles
from elmokit.formats.vocabulary_file import read_words, vocabulary_of
from elmokit.formats.weights import StoredBiLM


class _Joined:
    """The LSTMs of one file, and the token vectors of another, as one file of a model that reads words."""

    def __init__(self, lstms: HDF5File, tokens: HDF5File) -> None:
        self.path = tokens.path
        self.num_bytes = lstms.num_bytes + tokens.num_bytes
        self.entries = {name: entry for name, entry in lstms.entries.items() if name.startswith(LSTM_ROOTS)}
        self.entries[WORDS] = tokens.entries[WORDS]
        self._lstms, self._tokens = lstms, tokens

    def read(self, name: str) -> Array:
        return (self._tokens if name == WORDS else self._lstms).read(name)


def _token_vectors(files: ModelFiles) -> Path | None:
    """The HDF5 file of token vectors, if one and nothing else was given together with an options.json."""
    kinds = files.given
    if files.weights is None or set(kinds.values()) != {FileKind.OPTIONS, FileKind.HDF5}:
        return None
    (path,) = (path for path, kind in kinds.items() if kind is FileKind.HDF5)
    with open_hdf5(path) as file:
        return path if WORDS in file.entries and not holds_weights(file.entries) else None


@contextmanager
def _opened(files: ModelFiles) -> Generator[tuple[_Joined, Options, ModelFiles]]:
    """The joined file, the options of a model that reads words, and the pair with what is near it."""
    path = _token_vectors(files)
    assert path is not None
    nearby = ModelFiles(next(path for path, kind in files.given.items() if kind is FileKind.OPTIONS))
    pair = find_pair(nearby)
    options = read_options(pair.options, is_named=pair.is_named)
    config = replace(options.config, **words_instead(options.config.projection_dim))
    with open_hdf5(pair.weights) as lstms, open_hdf5(path) as tokens:
        options = replace(options, config=config)
        yield _Joined(lstms, tokens), options, nearby


def _read(files: ModelFiles, with_softmax: bool) -> StoredBiLM:
    with _opened(files) as (file, options, nearby):
        config, tensors = read_weights(file, options)
        vocabulary, spelling = read_words(file.path, config, nearby.in_folder)
        return StoredBiLM(config, tensors, vocabulary, spelling=spelling)


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    with _opened(files) as (file, options, nearby):
        pair = find_pair(nearby)
        inspection.add_files(pair.options, pair.weights, file.path)
        inspection.risks += options.risks
        inspect_weights(file, options, inspection)
        inspection.add_vocabulary(vocabulary_of(nearby.in_folder))


TOKEN_VECTORS = Format(
    name="token_vectors",
    description="bilm-tf with cached token vectors (options.json, two HDF5 files, vocabulary)",
    recognise=lambda files: _token_vectors(files) is not None,
    inspect=_inspect,
    read=_read,
)
