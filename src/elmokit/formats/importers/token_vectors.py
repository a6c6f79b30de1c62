"""bilm-tf's cached token vectors (`dump_token_embeddings`): the LSTMs of a released pair, and vectors of a vocabulary.

Given as two files: the options.json, with weights and vocabulary in its folder, and an HDF5 file of token vectors.
Words that are not in the vocabulary are <UNK>, so a model whose char encoder is there is better opened without them.
"""

from __future__ import annotations

from dataclasses import replace

from elmokit.files.hdf5 import HDF5File
from elmokit.files.weights_file import JoinedFiles
from elmokit.formats.file_kinds import FileKind
from elmokit.formats.importers.bilm_tf import find_pair, holds_weights, read_options, read_weights, words_instead
from elmokit.formats.importers.layouts import WORDS
from elmokit.formats.importers.sources import Imported, Sources, read_words
from elmokit.model.weights import Weights

NAME = "token_vectors"
DESCRIPTION = "bilm-tf with cached token vectors (options.json, two HDF5 files, vocabulary)"


def load(sources: Sources) -> Imported | None:
    """The joined model, if an options.json and an HDF5 file of token vectors, and nothing else, were given."""
    kinds = sources.given
    if sources.weights is None or {*kinds.values()} != {FileKind.OPTIONS, FileKind.HDF5}:
        return None
    options_path, path = sorted(kinds, key=lambda file: kinds[file] is FileKind.HDF5)
    tokens = HDF5File(path)
    if WORDS not in tokens.entries or holds_weights(tokens.entries):
        return None
    nearby = Sources(options_path)
    pair = find_pair(nearby)
    options = read_options(pair.options, is_named=pair.is_named)
    options = replace(options, config=replace(options.config, **words_instead(options.config.projection_dim)))
    joined = JoinedFiles(path, HDF5File(pair.weights), tokens)
    config, tensors, dtypes = read_weights(joined, options, is_partial=True)
    words = read_words(path, config, nearby.in_folder, risks := [*options.risks])
    weights = Weights(config, tensors, words.vocabulary, spelling=words.spelling)
    return Imported(weights, [pair.options, pair.weights, path, *words.files], dtypes, risks)
