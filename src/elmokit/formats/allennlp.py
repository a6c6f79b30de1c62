"""AllenNLP: the biLM inside a trained model (`model.tar.gz`, or its folder) or the state dict of an ELMo module.

The state dict has the biLM as it was used, perhaps fine-tuned, and the scalar mixes. The options are only in archives
of AllenNLP 0.x; everything else follows from the shapes, except settings that all released models share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.json_fields import blaming
from elmokit.files.torch_files import TorchFile
from elmokit.formats.bilm_tf import Options, read_options
from elmokit.formats.file_kinds import PICKLES, FileKind, kind_of
from elmokit.formats.format import Format, Inspection
from elmokit.formats.torch_layout import (
    Names,
    check_shapes,
    numbered,
    read_torch_files,
    sizes_of,
    the_file_with,
    to_native,
)
from elmokit.formats.weights import PADDING_TOKEN, StoredBiLM, StoredMix
from elmokit.model.config import BiLMConfig
from elmokit.system.messages import FormatError, join_names, plural

if TYPE_CHECKING:
    from elmokit.formats.model_files import ModelFiles

_EMBEDDING = "_elmo_lstm._token_embedder._char_embedding_weights"
_ORIGINALS = "fta"
"""The folder in which AllenNLP 0.x archives the files that a model was made from."""
_ASSUMED = (
    "the options are not with the weights: relu, clipping at 3, skip connections and at most 50 characters per token "
    "are assumed, as in all released models"
)


@dataclass(frozen=True)
class _Weights:
    """A file with one biLM: what all of its names begin with, its config, and the options, if they are there."""

    file: TorchFile
    prefix: str
    config: BiLMConfig
    options: Options | None
    options_path: Path | None


def names_of(prefix: str) -> Names:
    """The names in a module whose own name is `prefix`, with a full stop if there is one."""
    embedder = f"{prefix}_token_embedder."
    return Names(
        embedding=f"{embedder}_char_embedding_weights",
        convolution=f"{embedder}char_conv_",
        highway=f"{embedder}_highways._layers.",
        projection=f"{embedder}_projection.",
        lstm=f"{prefix}_elmo_lstm.",
    )


def _recognise(files: ModelFiles) -> bool:
    """Whether there is a file of PyTorch with the names of an ELMo module, and no HDF5 that it was made from."""
    return FileKind.HDF5 not in files.given.values() and _find(files) is not None


def _find(files: ModelFiles) -> TorchFile | None:
    is_archived = FileKind.ALLENNLP_CONFIG in files.given.values()
    paths = [path for path, kind in files.given.items() if kind in PICKLES]
    torch_files = read_torch_files(paths, must_be_readable=is_archived or not files.is_folder)
    return the_file_with(files.path, torch_files, _EMBEDDING)


def _weights(files: ModelFiles) -> _Weights:
    file = _find(files)
    assert file is not None
    prefix = _prefix(file)
    shapes, names = file.shapes(), names_of(f"{prefix}_elmo_lstm.")
    sizes = sizes_of(file.path, shapes, names)
    options_path = _options_path(files)
    options = None if options_path is None else read_options(options_path)
    said = BiLMConfig() if options is None else options.config
    with blaming(file.path):
        config = replace(said, **sizes, bidirectional=True, lookup=None)
    if config.num_filters == config.projection_dim:
        raise FormatError(file.path, f"projects {config.num_filters} filters to as many, which elmokit does not")
    check_shapes(file.path, shapes, config, names, files=[file.path])
    if options_path is not None and config != said:
        differing = [one.name for one in fields(config) if getattr(config, one.name) != getattr(said, one.name)]
        raise FormatError(options_path, f"{', '.join(differing)}: the tensors of {file.path.name} say otherwise")
    return _Weights(file, prefix, config, options, options_path)


def _prefix(file: TorchFile) -> str:
    """What the names of the biLM begin with. Of several biLMs in one model, all must have the same weights."""
    prefixes = [name.removesuffix(_EMBEDDING) for name in file.tensors if name.endswith(_EMBEDDING)]
    for other in prefixes[1:]:
        for name in file.tensors:
            twin = other + name.removeprefix(prefixes[0])
            if name.startswith(f"{prefixes[0]}_elmo_lstm.") and (
                twin not in file.tensors or not np.array_equal(file.read(name), file.read(twin))
            ):
                reason = f"holds {plural(len(prefixes), 'biLM')} that differ: {join_names(prefixes)}"
                raise FormatError(file.path, reason)
    return prefixes[0]


def _options_path(files: ModelFiles) -> Path | None:
    """The options: given, in the folder, or archived by AllenNLP 0.x."""
    given = [path for path, kind in files.given.items() if kind is FileKind.OPTIONS]
    originals = files.folder / _ORIGINALS
    if not given and originals.is_dir() and not originals.is_symlink():
        archived = sorted(path for path in originals.iterdir() if path.name.endswith("options_file"))
        given = [path for path in archived if kind_of(path) is FileKind.OPTIONS]
    if len(given) > 1:
        raise FormatError(given[0].parent, f"holds several options: {join_names(path.name for path in given)}")
    return given[0] if given else None


def _read(files: ModelFiles, with_softmax: bool) -> StoredBiLM:
    weights = _weights(files)
    tensors = to_native(weights.config, names_of(f"{weights.prefix}_elmo_lstm."), weights.file.read)
    tensors[PADDING_TOKEN][0] = 0.0  # no token reads it; the file may hold anything there
    return StoredBiLM(
        config=weights.config,
        tensors=tensors,
        pretraining=None if weights.options is None else weights.options.pretraining,
    )


def _mixes(file: TorchFile, prefix: str) -> Iterator[StoredMix]:
    """The scalar mixes of the module; a mix is there also if the configuration fixed its weights."""
    for gamma in numbered(file.tensors, f"{prefix}scalar_mix_", ".gamma"):
        name = gamma.removesuffix(".gamma")
        numbers = [file.read(part) for part in (gamma, *numbered(file.tensors, f"{name}.scalar_parameters.", ""))]
        if any(number.size != 1 for number in numbers):
            raise FormatError(file.path, "has weights that are not single numbers", part=name)
        first, *others = (float(number.item()) for number in numbers)
        yield StoredMix(name=name, weights=tuple(others), gamma=first)


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    weights = _weights(files)
    inspection.add_files(weights.file.path)
    inspection.dtypes = weights.file.dtypes()
    if weights.options_path is None or weights.options is None:
        inspection.risks.append(_ASSUMED)
    else:
        inspection.add_files(weights.options_path)
        inspection.risks += weights.options.risks
    inspection.config = weights.config
    inspection.mixes = list(_mixes(weights.file, weights.prefix))


ALLENNLP = Format(
    name="allennlp",
    description="AllenNLP (state dict of ELMo or of a model with ELMo)",
    recognise=_recognise,
    inspect=_inspect,
    read=_read,
)
