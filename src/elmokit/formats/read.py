"""`Weights` <-> the modules of torch: `BiLM` and its `Softmax`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from elmokit.formats.find import StrPath, find
from elmokit.formats.native import open_weights
from elmokit.layers.sampled_softmax import Softmax
from elmokit.model.bilm import BiLM
from elmokit.model.weights import SOFTMAX_BIAS, SOFTMAX_WEIGHT, Weights
from elmokit.text.spelling import DictionarySpelling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elmokit.text.vocabulary import Vocabulary


def read_bilm(path: StrPath, weights: StrPath | None = None) -> BiLM:
    """Read a model in any format, in float32 on the CPU, in eval mode. Arguments and errors: see `find`."""
    return BiLM.from_weights(open_weights(find(path, weights)))


def softmax_of(model: Weights) -> Softmax | None:
    """The softmax in eval mode, or None if the model has none. It shares memory with the arrays."""
    if not model.has_softmax:
        return None
    weight, bias = (torch.from_numpy(model.tensors[name]) for name in (SOFTMAX_WEIGHT, SOFTMAX_BIAS))
    return Softmax.of(weight, bias).eval()


def to_weights(bilm: BiLM, softmax: Softmax | None = None, vocabulary: Vocabulary | None = None) -> Weights:
    """The model as arrays, for writing. Float32 weights on the CPU are shared, not copied."""
    tensors = {name: _array(tensor) for name, tensor in bilm.state_dict().items()}
    if softmax is not None:
        tensors |= {SOFTMAX_WEIGHT: _array(softmax.weight), SOFTMAX_BIAS: _array(softmax.bias)}
    spelling = bilm.spelling if isinstance(bilm.spelling, DictionarySpelling) else None
    return Weights(bilm.config, tensors, vocabulary=vocabulary, spelling=spelling)


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(tensor.detach().to(device="cpu", dtype=torch.float32).numpy())
