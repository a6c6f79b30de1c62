"""bilm-tf's training checkpoints, of TensorFlow 1: options.json, model.ckpt-N.index and its data, with the softmax.

The vocabulary is a separate file with any name. The import leaves out the optimiser's slots, the step and the training
perplexity.
"""

from __future__ import annotations

from pathlib import Path

from elmokit.files.tensor_bundle import TensorBundle, has_data, latest_index
from elmokit.formats.file_kinds import FileKind
from elmokit.formats.importers.bilm_tf import only_options, read_options, read_weights
from elmokit.formats.importers.sources import Imported, Sources, read_words
from elmokit.model.weights import Weights

NAME = "tensorflow"
DESCRIPTION = "bilm-tf checkpoint (options.json, TensorFlow 1)"
_ROOT = "lm/"


def load(sources: Sources) -> Imported | None:
    """The checkpoint, if an index, a list of checkpoints or options were given, or a folder with them."""
    if not _is_checkpoint(sources):
        return None
    kinds = sources.nearby
    indices = _of_kind(sources.given, FileKind.TENSORFLOW_INDEX) or _of_kind(kinds, FileKind.TENSORFLOW_INDEX)
    listings = _of_kind(kinds, FileKind.TENSORFLOW_CHECKPOINT)
    given_options = _of_kind(sources.given, FileKind.OPTIONS)
    options_path = only_options(
        sources.path, dict.fromkeys(given_options, FileKind.OPTIONS) or kinds, weights=FileKind.TENSORFLOW_INDEX.value
    )
    index = latest_index(indices, listings[0] if listings else None)
    options, bundle = read_options(options_path), TensorBundle(index, root=_ROOT)
    config, tensors, dtypes = read_weights(bundle, options)
    words = read_words(index, config, kinds, risks := [*options.risks])
    weights = Weights(config, tensors, words.vocabulary, options.pretraining, words.spelling)
    weights.check_softmax(index)
    return Imported(weights, [options_path, index, *bundle.files, *words.files], dtypes, risks)


def _is_checkpoint(sources: Sources) -> bool:
    """Whether there is a checkpoint; weights in HDF5 next to it, which lack the softmax, are read if they are named."""
    kinds, nearby = {*sources.given.values()}, sources.nearby
    indices = _of_kind(nearby, FileKind.TENSORFLOW_INDEX)
    if not indices or not kinds & {FileKind.TENSORFLOW_INDEX, FileKind.TENSORFLOW_CHECKPOINT, FileKind.OPTIONS}:
        return False
    if FileKind.HDF5 not in nearby.values() or FileKind.OPTIONS not in kinds:
        return True
    return (sources.is_folder or FileKind.HDF5 not in kinds) and any(map(has_data, indices))


def _of_kind(kinds: dict[Path, FileKind], wanted: FileKind) -> list[Path]:
    return [path for path, kind in kinds.items() if kind is wanted]
