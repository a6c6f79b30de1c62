"""Weights on disk -> `BiLM` and `Softmax`, and back: the only file of the formats that imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from elmokit.files.weights_file import Array
from elmokit.formats.model_files import StrPath
from elmokit.formats.recognise import read_stored
from elmokit.formats.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, StoredBiLM
from elmokit.layers.devices import on_meta_device
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.system.messages import FormatError
from elmokit.text.indexer import DictionarySpelling

if TYPE_CHECKING:
    from elmokit.text.vocabulary import Vocabulary


def read_bilm(
    path: StrPath, weights: StrPath | None = None, *, with_softmax: bool = False
) -> tuple[BiLM, Softmax | None, Vocabulary | None]:
    """Read a model in any format, in float32 on the CPU, in eval mode; softmax and vocabulary may be None.

    `path` is the name of a model, a folder, a file in a folder, or, with `weights`, the options.json of a pair (also in
    the other order). Raises the errors of `resolve_model` if there is no such model, and FormatError if it is not a
    biLM, or has no softmax although `with_softmax` is set.
    """
    stored = read_stored(path, weights, with_softmax=with_softmax)
    if with_softmax and not stored.has_softmax:
        raise FormatError(f"{path}", "has no softmax (perplexity and fine-tuning need it)")
    return from_stored(stored)


def from_stored(stored: StoredBiLM) -> tuple[BiLM, Softmax | None, Vocabulary | None]:
    """Modules that share the memory of the arrays; nothing is initialised or copied."""
    tensors = {name: torch.from_numpy(array) for name, array in stored.tensors.items()}
    with on_meta_device():
        bilm = BiLM(stored.config, stored.spelling)
    bilm.load_state_dict({name: tensors[name] for name in stored.config.tensor_shapes()}, assign=True)
    softmax = None
    if stored.has_softmax:
        num_tokens, dim = stored.tensors[SOFTMAX_WEIGHT].shape
        with on_meta_device():
            softmax = Softmax(num_tokens=num_tokens, dim=dim)
        state = {"weight": tensors[SOFTMAX_WEIGHT], "bias": tensors[SOFTMAX_BIAS]}
        softmax.load_state_dict(state, assign=True)
        softmax.eval()
    return bilm.eval(), softmax, stored.vocabulary


def to_stored(
    bilm: BiLM,
    softmax: Softmax | None = None,
    vocabulary: Vocabulary | None = None,
    *,
    pretraining: dict[str, object] | None = None,
) -> StoredBiLM:
    """The model as NumPy arrays, for writing; float32 weights of a model on the CPU are shared, not copied."""
    tensors = {name: _array(tensor) for name, tensor in bilm.state_dict().items()}
    if softmax is not None:
        tensors |= {SOFTMAX_WEIGHT: _array(softmax.weight), SOFTMAX_BIAS: _array(softmax.bias)}
    spelling = bilm.spelling if isinstance(bilm.spelling, DictionarySpelling) else None
    return StoredBiLM(bilm.config, tensors, vocabulary=vocabulary, spelling=spelling, pretraining=pretraining)


def _array(tensor: torch.Tensor) -> Array:
    array: Array = tensor.detach().to(device="cpu", dtype=torch.float32).numpy()
    return np.ascontiguousarray(array)
