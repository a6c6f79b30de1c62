"""The released format of bilm-tf and AllenNLP: an `options.json` and an HDF5 file of weights, under any names.

It cannot store the softmax. A vocabulary is not part of it, but may be in the same folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from elmokit.files.atomic import atomic_write
from elmokit.files.folder import new_folder, write_text
from elmokit.files.hdf5 import open_hdf5, write_hdf5
from elmokit.files.json_fields import json_text
from elmokit.formats.bilm_tf_layout import to_datasets
from elmokit.formats.bilm_tf_pair import Pair, find_pair, is_pair, vocabulary_of
from elmokit.formats.bilm_tf_weights import inspect_weights, layout_of, read_weights
from elmokit.formats.format import Format, WriteSettings
from elmokit.formats.model_files import ModelFiles
from elmokit.formats.options_json import STORED_TRAINING_OPTIONS, options_of, read_options
from elmokit.formats.vocabulary_file import read_vocabulary
from elmokit.formats.weights import StoredBiLM
from elmokit.formats.words import word_spelling
from elmokit.system.messages import FormatError, shown

if TYPE_CHECKING:
    from pathlib import Path

    from elmokit.formats.inspection import Inspection
    from elmokit.model.config import BiLMConfig
    from elmokit.text.vocabulary import Vocabulary

OPTIONS_NAME = "options.json"
WEIGHTS_NAME = "weights.hdf5"
VOCABULARY_NAME = "vocabulary.txt"


def _read(files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM:
    if with_softmax:
        raise FormatError(
            files.path, "has no softmax (perplexity and fine-tuning need it): the HDF5 format cannot store it"
        )
    return read_bilm_tf(find_pair(files))


def read_bilm_tf(pair: Pair) -> StoredBiLM:
    """Read a pair (see `find_pair`). Nothing is allocated before the whole file has been checked.

    Raises FormatError, which names the file, the dataset and the reason.
    """
    options = read_options(pair.options, is_named=pair.is_named)
    with open_hdf5(pair.weights) as file:
        layout = layout_of(options, file.entries)
        tensors = read_weights(file, layout)
    vocabulary = pair.vocabulary
    if vocabulary is None and layout.config.lookup is not None:  # of two files that were given, it is near the first
        vocabulary = vocabulary_of(ModelFiles(pair.options).in_folder)
    return StoredBiLM(
        config=layout.config,
        tensors=tensors,
        vocabulary=None if vocabulary is None else _read_vocabulary(vocabulary, layout.config),
        spelling=word_spelling(pair.weights, layout.config, vocabulary),
        pretraining={STORED_TRAINING_OPTIONS: options.training} if options.training else None,
    )


def _read_vocabulary(path: Path, config: BiLMConfig) -> Vocabulary:
    """The vocabulary; the error of a damaged one says how to do without it, if the model can."""
    try:
        return read_vocabulary(path)
    except ValueError as error:
        if config.lookup is not None:
            raise
        advice = "vectors do not need it: give options and weights as two files (--weights) to leave it out"
        raise ValueError(f"{error}; {advice}") from error


def write_bilm_tf(folder: Path, stored: StoredBiLM) -> None:
    """Write options.json, weights.hdf5 and the vocabulary, if any, into a new folder, completely or not at all.

    The datasets are those of `dump_weights`, with the names that bilm-tf and AllenNLP read. Raises FormatError if the
    model has a softmax, which the format cannot store; see `StoredBiLM.without_softmax`.
    """
    if stored.config.lookup is not None:
        raise FormatError(folder, "the HDF5 format stores models that read bytes; this one reads words of a dictionary")
    if stored.has_softmax:
        raise FormatError(folder, "the HDF5 format cannot store a softmax; write the model without it")
    stored.check(folder)
    options = json_text(folder / OPTIONS_NAME, options_of(stored))
    with new_folder(folder) as staging:
        with atomic_write(staging / WEIGHTS_NAME) as temporary:
            write_hdf5(temporary, to_datasets(stored.config, stored.tensors))
        if stored.vocabulary is not None:
            stored.vocabulary.write(staging / VOCABULARY_NAME)
        write_text(staging / OPTIONS_NAME, options)


def _write(folder: Path, stored: StoredBiLM, settings: WriteSettings) -> list[str]:
    write_bilm_tf(folder, stored.without_softmax())
    notes: list[str] = []
    config = stored.config
    if stored.has_softmax:
        notes.append("the softmax was left out, because the HDF5 format cannot store it; keep the native model for it")
    if not config.bidirectional:
        notes.append("bilm-tf and AllenNLP read only bidirectional models; this one is a forward model")
    if not config.use_skip_connections:
        notes.append("AllenNLP refuses models without skip connections; bilm-tf reads them")
    if config.num_filters <= config.projection_dim:
        notes.append(
            "AllenNLP needs a projection, and bilm-tf refuses one that widens; this model has "
            f"{config.num_filters} filters and projection_dim {config.projection_dim}"
        )
    return notes


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    pair = find_pair(files)
    inspection.add_file(pair.options)
    inspection.add_file(pair.weights)
    if pair.vocabulary is not None:
        inspection.add_vocabulary(pair.vocabulary)
    options = read_options(pair.options, is_named=pair.is_named)
    inspection.config = options.config
    inspection.risks += [shown(risk) for risk in options.risks]
    with open_hdf5(pair.weights) as file:
        inspect_weights(file, options, inspection)


BILM_TF = Format(
    name="bilm_tf",
    description="bilm-tf / AllenNLP (options.json, HDF5)",
    recognise=is_pair,
    inspect=_inspect,
    read=_read,
    write=_write,
)
