"""AllenNLP: the biLM inside a trained model (`model.tar.gz`, or its folder) or the state dict of an ELMo module.

The state dict holds the biLM as it was used, perhaps fine-tuned, and the scalar mixes. Only archives of AllenNLP 0.x
contain the options. Without them, sizes follow from the shapes; for the rest, we assume what all released models share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from elmokit.files.torch_files import TorchFile
from elmokit.files.weights_file import read_finite
from elmokit.formats.file_kinds import FileKind, kind_of
from elmokit.formats.importers.bilm_tf import read_options
from elmokit.formats.importers.layouts import SAID_BY_TENSORS, Names, module_rows, numbered, read_native, sizes_of
from elmokit.formats.importers.sources import Imported, Sources, the_file_with
from elmokit.formats.inspection import StoredMix
from elmokit.model.config import BiLMConfig
from elmokit.model.weights import PADDING_TOKEN, Weights
from elmokit.system.messages import FormatError, join_names, plural

DESCRIPTION = "AllenNLP (state dict of ELMo or of a model with ELMo)"
_EMBEDDING = "_elmo_lstm._token_embedder._char_embedding_weights"
_ORIGINALS = "fta"
"""In this folder, AllenNLP 0.x archives the files that a model was made from."""
_ASSUMED = (
    "found no options next to the weights: relu, clipping at 3, skip connections and at most 50 characters per "
    "token are assumed, as in all released models"
)


def names_of(prefix: str) -> Names:
    """The names in the module `prefix`, which ends with a full stop unless it is empty."""
    embedder = f"{prefix}_token_embedder."
    return Names(
        embedding=f"{embedder}_char_embedding_weights",
        convolution=f"{embedder}char_conv_",
        highway=f"{embedder}_highways._layers.",
        projection=f"{embedder}_projection.",
        lstm=f"{prefix}_elmo_lstm.",
    )


def load(sources: Sources) -> Imported | None:
    """The model, if there is a PyTorch file with the names of an ELMo module, and no HDF5 file of original weights."""
    if FileKind.HDF5 in sources.given.values():
        return None
    is_archived = FileKind.ALLENNLP_CONFIG in sources.given.values()
    torch_files = sources.torch_files(must_be_readable=is_archived or not sources.is_folder)
    file = the_file_with(sources.path, torch_files, _EMBEDDING)
    if file is None:
        return None
    prefix, options_path = _prefix(file), _options_path(sources)
    names = names_of(f"{prefix}_elmo_lstm.")
    options = None if options_path is None else read_options(options_path)
    config = _config(file, names, None if options is None else options.config)
    tensors, dtypes = read_native([*module_rows(config, names)], file, expected=SAID_BY_TENSORS)
    if options is not None and config != options.config:
        said, found = asdict(options.config), asdict(config)
        differing = ", ".join(name for name in found if found[name] != said[name])
        raise FormatError(f"{options_path}", f"{differing}: the tensors of {file.path.name} say otherwise")
    tensors[PADDING_TOKEN][0] = 0.0  # no token reads it; the file may hold anything there
    return Imported(
        weights=Weights(config, tensors, pretraining=None if options is None else options.pretraining),
        files=[file.path, *([] if options_path is None else [options_path])],
        dtypes=dtypes,
        risks=[_ASSUMED] if options is None else options.risks,
        mixes=list(_mixes(file, prefix)),
    )


def _config(file: TorchFile, names: Names, said: BiLMConfig | None) -> BiLMConfig:
    """The config. Sizes come from the tensors, everything else from the options, if there are any."""
    sizes = sizes_of(file, names)
    try:
        config = replace(said or BiLMConfig(), **sizes, bidirectional=True, lookup=None)
    except ValueError as error:
        raise FormatError(file.path, str(error)) from error
    if config.num_filters == config.projection_dim:
        raise FormatError(file.path, f"projects {config.num_filters} filters to as many, which is not supported")
    return config


def _prefix(file: TorchFile) -> str:
    """The prefix of the biLM's names. If a model contains several biLMs, they must all have the same weights."""
    prefixes = [name.removesuffix(_EMBEDDING) for name in file.entries if name.endswith(_EMBEDDING)]
    for other in prefixes[1:]:
        for name in file.entries:
            twin = other + name.removeprefix(prefixes[0])
            if name.startswith(f"{prefixes[0]}_elmo_lstm.") and (
                twin not in file.entries or not np.array_equal(file.read(name), file.read(twin))
            ):
                reason = f"holds {plural(len(prefixes), 'biLM')} that differ: {join_names(prefixes)}"
                raise FormatError(file.path, reason)
    return prefixes[0]


def _options_path(sources: Sources) -> Path | None:
    """The options: given, in the folder, or archived by AllenNLP 0.x."""
    given = [path for path, kind in sources.given.items() if kind is FileKind.OPTIONS]
    originals = sources.folder / _ORIGINALS
    if not given and originals.is_dir() and not originals.is_symlink():
        archived = sorted(path for path in originals.iterdir() if path.name.endswith("options_file"))
        given = [path for path in archived if kind_of(path) is FileKind.OPTIONS]
    if len(given) > 1:
        raise FormatError(given[0].parent, f"holds several options: {join_names(path.name for path in given)}")
    return given[0] if given else None


def _mixes(file: TorchFile, prefix: str) -> Iterator[StoredMix]:
    """The scalar mixes of the module, including mixes with weights that the configuration fixed."""
    for gamma in numbered(file.entries, f"{prefix}scalar_mix_", ".gamma"):
        name = gamma.removesuffix(".gamma")
        parts = (gamma, *numbered(file.entries, f"{name}.scalar_parameters.", ""))
        numbers = [read_finite(file, part) for part in parts]
        if any(number.size != 1 for number in numbers):
            raise FormatError(file.path, "has weights that are not single numbers", part=name)
        first, *others = (float(number.item()) for number in numbers)
        yield StoredMix(name=name, weights=tuple(others), gamma=first)
