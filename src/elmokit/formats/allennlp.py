"""AllenNLP: the biLM inside a trained model (`model.tar.gz`, or its folder) or the state dict of an ELMo module.

The state dict has the biLM as it was used, perhaps fine-tuned, and the scalar mixes. The options are only in archives
of AllenNLP 0.x; the shapes of the tensors say everything else than what all released models have in common.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.torch_files import TorchFile
from elmokit.formats.file_kinds import PICKLES, FileKind, kind_of
from elmokit.formats.format import Format
from elmokit.formats.options_json import STORED_TRAINING_OPTIONS, Options, read_options
from elmokit.formats.torch_layout import (
    CharacterNames,
    Sizes,
    characters_to_native,
    check_shapes,
    expected_shapes,
    find_torch_file,
    lstms_to_native,
    numbered,
    sizes_of,
)
from elmokit.formats.weights import PADDING_TOKEN, StoredBiLM, StoredMix
from elmokit.model.config import BiLMConfig
from elmokit.system.messages import FormatError, count, listed
from elmokit.text.character_numbers import NUM_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from elmokit.formats.inspection import Inspection
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
    """A file with one biLM: what all of its names begin with, its sizes, and the options, if they are there."""

    file: TorchFile
    prefix: str
    sizes: Sizes
    character_dim: int
    options: Options | None
    options_path: Path | None

    @property
    def names(self) -> CharacterNames:
        return _names(self.prefix)

    @property
    def config(self) -> BiLMConfig:
        """The config that the tensors and the options say. Raises FormatError if they say different ones."""
        said = BiLMConfig() if self.options is None else self.options.config
        sizes = asdict(self.sizes)
        try:
            found = replace(said, **sizes, character_dim=self.character_dim, bidirectional=True)
        except ValueError as error:
            raise FormatError(self.file.path, str(error)) from error
        if self.options_path is not None and found != said:
            raise FormatError(self.options_path, f"says {said}; the tensors of {self.file.path.name} are of {found}")
        return found


def _lstm(prefix: str) -> str:
    return f"{prefix}_elmo_lstm._elmo_lstm."


def _projection(prefix: str) -> str:
    return f"{prefix}_elmo_lstm._token_embedder._projection."


def _names(prefix: str) -> CharacterNames:
    embedder = f"{prefix}_elmo_lstm._token_embedder."
    return CharacterNames(
        embedding=f"{embedder}_char_embedding_weights",
        convolution=f"{embedder}char_conv_",
        highway=f"{embedder}_highways._layers.",
    )


def _recognise(files: ModelFiles) -> bool:
    """Whether there is a file of PyTorch with the names of an ELMo module, and no HDF5 that it was made from."""
    return FileKind.HDF5 not in files.given.values() and _find(files) is not None


def _find(files: ModelFiles) -> TorchFile | None:
    is_archived = FileKind.ALLENNLP_CONFIG in files.given.values()
    paths = [path for path, kind in files.given.items() if kind in PICKLES]
    must_be_readable = is_archived or not files.is_folder
    return find_torch_file(files.path, paths, ending=_EMBEDDING, must_be_readable=must_be_readable)


def _weights(files: ModelFiles) -> _Weights:
    file = _find(files)
    assert file is not None
    prefix = _prefix(file)
    names, shapes = _names(prefix), file.shapes()
    lstm, projection = _lstm(prefix), _projection(prefix)
    sizes = sizes_of(file.path, shapes, names, lstm=lstm)
    _, character_dim = (*shapes[names.embedding], 0, 0)[:2]
    num_filters = sizes.num_filters
    if num_filters == sizes.projection_dim:
        raise FormatError(file.path, f"projects {num_filters} filters to as many, which elmokit does not")
    expected = expected_shapes(sizes, names, lstm=lstm, character_dim=character_dim) | {
        names.embedding: (NUM_CHARACTERS, character_dim),
        f"{projection}weight": (sizes.projection_dim, num_filters),
        f"{projection}bias": (sizes.projection_dim,),
    }
    check_shapes(file.path, shapes, expected)
    options_path = _options_path(files)
    options = None if options_path is None else read_options(options_path)
    return _Weights(file, prefix, sizes, character_dim, options, options_path)


def _prefix(file: TorchFile) -> str:
    """What the names of the biLM begin with. Of several biLMs in one model, all must have the same weights."""
    prefixes = [name.removesuffix(_EMBEDDING) for name in file.tensors if name.endswith(_EMBEDDING)]
    for other in prefixes[1:]:
        for name in file.tensors:
            twin = other + name.removeprefix(prefixes[0])
            if name.startswith(f"{prefixes[0]}_elmo_lstm.") and (
                file.shapes().get(twin) != file.shapes()[name] or not np.array_equal(file.read(name), file.read(twin))
            ):
                raise FormatError(file.path, f"holds {count(len(prefixes), 'biLM')} that differ: {listed(prefixes)}")
    return prefixes[0]


def _options_path(files: ModelFiles) -> Path | None:
    """The options: given, in the folder, or archived by AllenNLP 0.x."""
    given = [path for path, kind in files.given.items() if kind is FileKind.OPTIONS]
    originals = files.folder / _ORIGINALS
    if not given and originals.is_dir() and not originals.is_symlink():
        archived = sorted(path for path in originals.iterdir() if path.name.endswith("options_file"))
        given = [path for path in archived if kind_of(path) is FileKind.OPTIONS]
    if len(given) > 1:
        raise FormatError(given[0].parent, f"holds several options: {listed(path.name for path in given)}")
    return given[0] if given else None


def _read(files: ModelFiles, *, with_softmax: bool | None) -> StoredBiLM:
    weights = _weights(files)
    file, sizes, config = weights.file, weights.sizes, weights.config
    if with_softmax:
        raise FormatError(file.path, "has no softmax (perplexity and fine-tuning need it): AllenNLP does not keep it")
    embedding = file.read(weights.names.embedding).copy()
    embedding[0] = 0.0  # no token reads it; the file may hold anything there
    projection = _projection(weights.prefix)
    tensors = {
        PADDING_TOKEN: embedding,
        **characters_to_native(sizes, weights.names, file.read, prefix="char_encoder."),
        "char_encoder.projection.weight": file.read(f"{projection}weight"),
        "char_encoder.projection.bias": file.read(f"{projection}bias"),
        **lstms_to_native(sizes, file.read, lstm=_lstm(weights.prefix)),
    }
    training = {} if weights.options is None else weights.options.training
    return StoredBiLM(
        config=config,
        tensors={name: tensors[name] for name in config.tensor_shapes()},
        pretraining={STORED_TRAINING_OPTIONS: training} if training else None,
        mixes=tuple(_mixes(file, weights.prefix)),
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
    inspection.add_file(weights.file.path)
    inspection.dtypes = weights.file.dtypes()
    if weights.options_path is None or weights.options is None:
        inspection.risks.append(_ASSUMED)
    else:
        inspection.add_file(weights.options_path)
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
