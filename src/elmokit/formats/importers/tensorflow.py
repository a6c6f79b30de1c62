"""bilm-tf's training checkpoints, of TensorFlow 1: options.json, model.ckpt-N.index and its data, with the softmax.

The vocabulary is a separate file with any name. The import leaves out the optimiser's slots, the step and the training
perplexity.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.tensor_bundle import TensorBundle, has_data, latest_index
from elmokit.files.weights_file import Array, require_finite
from elmokit.formats.file_kinds import FileKind
from elmokit.formats.importers.bilm_tf import only_options, read_options, read_weights
from elmokit.formats.importers.layouts import WORDS
from elmokit.formats.importers.sources import Imported, Sources, read_words
from elmokit.model.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, Weights
from elmokit.system.messages import FormatError

if TYPE_CHECKING:
    from elmokit.model.config import BiLMConfig

NAME = "tensorflow"
DESCRIPTION = "bilm-tf checkpoint (options.json, TensorFlow 1)"
_ROOT = "lm/"
_SOFTMAX_WEIGHT = "softmax/W"
_SOFTMAX_BIAS = "softmax/b"


def load(sources: Sources) -> Imported | None:
    """The checkpoint, if an index, a list of checkpoints or options were given, or a folder with them."""
    if not _is_checkpoint(sources):
        return None
    index, options_path = _find(sources)
    options, bundle = read_options(options_path), TensorBundle(index, root=_ROOT)
    config, tensors, dtypes = read_weights(bundle, options)
    if _SOFTMAX_BIAS in bundle.entries:
        tensors |= _softmax(bundle, config)
    risks = [*options.risks]
    words = read_words(index, config, sources.nearby, risks)
    weights = Weights(config, tensors, words.vocabulary, options.pretraining, words.spelling)
    weights.check_softmax(index)
    return Imported(weights, [options_path, index, *bundle.files, *words.files], dtypes, risks, mixes=[])


def _is_checkpoint(sources: Sources) -> bool:
    """Whether there is a checkpoint; weights in HDF5 next to it, which lack the softmax, are read if they are named."""
    kinds = set(sources.given.values())
    if not kinds & {FileKind.TENSORFLOW_INDEX, FileKind.TENSORFLOW_CHECKPOINT, FileKind.OPTIONS}:
        return False
    nearby = sources.nearby
    if FileKind.TENSORFLOW_INDEX not in nearby.values():
        return False
    if FileKind.HDF5 in nearby.values() and FileKind.OPTIONS in kinds:
        named = not sources.is_folder and FileKind.HDF5 in kinds
        if named or not any(has_data(path) for path, kind in nearby.items() if kind is FileKind.TENSORFLOW_INDEX):
            return False
    return True


def _find(sources: Sources) -> tuple[Path, Path]:
    """The index of the checkpoint, and the options."""
    kinds = sources.nearby
    chosen = [path for path, kind in sources.given.items() if kind is FileKind.TENSORFLOW_INDEX]
    indices = chosen or [path for path, kind in kinds.items() if kind is FileKind.TENSORFLOW_INDEX]
    listings = [path for path, kind in kinds.items() if kind is FileKind.TENSORFLOW_CHECKPOINT]
    given_options = {path: kind for path, kind in sources.given.items() if kind is FileKind.OPTIONS}
    options = only_options(sources.path, given_options or kinds, weights=FileKind.TENSORFLOW_INDEX.value)
    return latest_index(indices, listings[0] if listings else None), options


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
