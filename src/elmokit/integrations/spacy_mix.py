"""The learned mix of ELMo's layers in spaCy's components: `elmokit.ScalarMix.v1` (Peters et al., 2018, equation 1).

It takes the place of a `Tok2Vec`. It reads the layers that the component `elmo` left in `doc.tensor`, and is trained
with the component that contains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elmokit.system.optional import require

if TYPE_CHECKING:
    from jaxtyping import Float32

    Rows = Float32[np.ndarray, "T E"]
    Backprop = Callable[[Sequence[Rows]], list[Any]]

_spacy: Any = require("spacy", extra="spacy", purpose="elmokit.integrations.spacy_mix")
_thinc: Any = require("thinc.api", extra="spacy", purpose="elmokit.integrations.spacy_mix")


@_spacy.registry.architectures("elmokit.ScalarMix.v1")
def scalar_mix(width: int, num_layers: int = 3) -> Any:
    """A thinc model, documents -> rows (T,width) of each: `gamma * sum_j softmax(weights)_j * layer_j`.

    width: width of a layer, 2D. num_layers: 3 for a component `elmo` with `layers = "all"` and two LSTM layers.
    The model raises ValueError for a document with other columns in its tensor.
    """
    parameters = {"weights": None, "gamma": None}
    return _thinc.Model(
        "elmo-mix", _forward, init=_init, dims={"nO": width}, params=parameters, attrs={"num_layers": num_layers}
    )


def _init(model: Any, X: object = None, Y: object = None) -> None:  # noqa: N803 - thinc's names
    model.set_param("weights", model.ops.alloc1f(model.attrs["num_layers"]))  # softmax(0) starts as the plain average
    model.set_param("gamma", model.ops.alloc1f(1) + 1)


def _forward(model: Any, docs: Sequence[Any], is_train: bool) -> tuple[list[Rows], Backprop]:
    width, num_layers = model.get_dim("nO"), model.attrs["num_layers"]
    layers = [_layers(model, doc, width, num_layers, is_train=is_train) for doc in docs]
    shares = model.ops.softmax(model.get_param("weights"))
    gamma = model.get_param("gamma")
    mixed = [(of_doc * shares[:, None]).sum(axis=1) for of_doc in layers]

    def backprop(gradients: Sequence[Rows]) -> list[Any]:
        of_gamma = sum((gradient * rows).sum() for gradient, rows in zip(gradients, mixed, strict=True))
        of_shares = sum(
            (of_doc * gradient[:, None]).sum(axis=(0, 2)) for of_doc, gradient in zip(layers, gradients, strict=True)
        )
        model.inc_grad("gamma", model.ops.alloc1f(1) + of_gamma)
        model.inc_grad("weights", gamma * shares * (of_shares - (shares * of_shares).sum()))
        return []

    return [gamma * rows for rows in mixed], backprop


def _layers(model: Any, doc: Any, width: int, num_layers: int, *, is_train: bool) -> Float32[np.ndarray, "T L E"]:
    """The layers of a document; zeros if nothing has annotated it yet, as when a component is initialised."""
    if doc.tensor.size == 0 and not is_train:
        return model.ops.alloc3f(len(doc), num_layers, width)
    if doc.tensor.shape != (len(doc), num_layers * width):
        raise ValueError(
            f"elmokit.ScalarMix.v1 found a doc.tensor of shape {doc.tensor.shape}; expected "
            f'{(len(doc), num_layers * width)}: put a component elmo with layers = "all" before it, and name that one '
            "among the annotating_components of [training]"
        )
    return model.ops.asarray3f(doc.tensor.reshape(len(doc), num_layers, width))
