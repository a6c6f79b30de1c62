"""bilm-tf's training checkpoints, of TensorFlow 1: options.json, model.ckpt-N.index and its data, with the softmax.

The vocabulary is a file of its own, under any name. Slots of the optimiser, the step and the training perplexity are
left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.tensor_bundle import TensorBundle, has_data, latest_index
from elmokit.files.weights_file import Array, require_finite
from elmokit.formats.bilm_tf import WORDS, inspect_weights, only_options, read_options, read_weights
from elmokit.formats.file_kinds import FileKind
from elmokit.formats.format import Format, Inspection
from elmokit.formats.vocabulary_file import read_words, vocabulary_of
from elmokit.formats.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, StoredBiLM
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from elmokit.formats.model_files import ModelFiles
    from elmokit.model.config import BiLMConfig

_ROOT = "lm/"
_SOFTMAX_WEIGHT = "softmax/W"
_SOFTMAX_BIAS = "softmax/b"


def _recognise(files: ModelFiles) -> bool:
    """Whether an index, a list of checkpoints or options were given, or a folder with them, and there is a checkpoint.

    Weights in HDF5 next to it, as `dump_weights` writes them, lack the softmax; they are read if they are named.
    """
    kinds = set(files.given.values())
    if not kinds & {FileKind.TENSORFLOW_INDEX, FileKind.TENSORFLOW_CHECKPOINT, FileKind.OPTIONS}:
        return False
    nearby = files.nearby
    if FileKind.TENSORFLOW_INDEX not in nearby.values():
        return False
    if FileKind.HDF5 in nearby.values() and FileKind.OPTIONS in kinds:
        named = not files.is_folder and FileKind.HDF5 in kinds
        if named or not any(has_data(path) for path, kind in nearby.items() if kind is FileKind.TENSORFLOW_INDEX):
            return False
    _find(files)
    return True


def _find(files: ModelFiles) -> tuple[Path, Path]:
    """The index of the checkpoint, and the options."""
    kinds = files.nearby
    chosen = [path for path, kind in files.given.items() if kind is FileKind.TENSORFLOW_INDEX]
    indices = chosen or [path for path, kind in kinds.items() if kind is FileKind.TENSORFLOW_INDEX]
    listings = [path for path, kind in kinds.items() if kind is FileKind.TENSORFLOW_CHECKPOINT]
    given_options = {path: kind for path, kind in files.given.items() if kind is FileKind.OPTIONS}
    options = only_options(files.path, given_options or kinds, weights=FileKind.TENSORFLOW_INDEX.value)
    return latest_index(indices, listings[0] if listings else None), options


def _read(files: ModelFiles, with_softmax: bool) -> StoredBiLM:
    index, options_path = _find(files)
    options, bundle = read_options(options_path), TensorBundle(index, root=_ROOT)
    config, tensors = read_weights(bundle, options)
    if with_softmax and _SOFTMAX_BIAS in bundle.entries:
        tensors.update(_softmax(bundle, config))
    vocabulary, spelling = read_words(index, config, files.nearby)
    stored = StoredBiLM(config, tensors, vocabulary, options.pretraining, spelling)
    stored.check_softmax(index)
    return stored


def _softmax(bundle: TensorBundle, config: BiLMConfig) -> dict[str, Array]:
    """Weight and bias; a model that reads words may use their table in place of a weight (`share_embedding`)."""
    weight = WORDS if WORDS in bundle.entries and _SOFTMAX_WEIGHT not in bundle.entries else _SOFTMAX_WEIGHT
    rows = bundle.entries[_SOFTMAX_BIAS].shape[:1]
    tensors: dict[str, Array] = {}
    expected = {SOFTMAX_WEIGHT: (weight, (*rows, config.projection_dim)), SOFTMAX_BIAS: (_SOFTMAX_BIAS, rows)}
    for ours, (theirs, shape) in expected.items():
        found = bundle.entries[theirs].shape if theirs in bundle.entries else None
        if found != shape:
            said = "is missing" if found is None else f"has shape {found}"
            raise FormatError(bundle.path, f"{said}; expected {shape}", part=f"variable {theirs}")
        tensors[ours] = bundle.read(theirs)
        require_finite(bundle.path, theirs, tensors[ours])
    return tensors


def _inspect(files: ModelFiles, inspection: Inspection) -> None:
    index, options_path = _find(files)
    inspection.add_files(options_path, index)
    options = read_options(options_path)
    inspection.config = options.config
    inspection.risks += options.risks
    bundle = TensorBundle(index, root=_ROOT)
    inspection.add_files(*bundle.files)
    inspect_weights(bundle, options, inspection)
    if _SOFTMAX_BIAS in bundle.entries:
        inspection.num_softmax_rows = bundle.entries[_SOFTMAX_BIAS].shape[0]
    inspection.add_vocabulary(vocabulary_of(files.nearby))


TENSORFLOW = Format(
    name="tensorflow",
    description="bilm-tf checkpoint (options.json, TensorFlow 1)",
    recognise=_recognise,
    inspect=_inspect,
    read=_read,
)
