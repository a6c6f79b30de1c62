"""ELMo as token embeddings for flair (extra `flair`). They replace flair's own class, which needed AllenNLP 0.9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.encoding import DEFAULT_LAYERS, Layers, as_layers
from elmokit.formats import hub
from elmokit.formats.find import DEFAULT_MODEL, is_model_name
from elmokit.integrations.model_bytes import bytes_of, elmo_of
from elmokit.system.optional import require

_flair: Any = require("flair", extra="flair", purpose="elmokit.integrations.flair")
_embeddings: Any = require("flair.embeddings.base", extra="flair", purpose="elmokit.integrations.flair")


@_embeddings.register_embeddings
class ElmoEmbeddings(_embeddings.TokenEmbeddings):  # pyright: ignore[reportUntypedBaseClass] - known when it is there
    """Vectors of the tokens of `flair.data.Sentence`, for taggers, `StackedEmbeddings` and document embeddings.

    model: an `Elmo`, or what `Elmo.from_pretrained` takes.
    layers: as in `Elmo.encode`, by default "top". "all" concatenates the layers; it is the default of flair's own
        class.
    options_file, weight_file: a released pair instead of a model, as in flair's own class.
    embedding_mode: the name of `layers` in flair's own class: "all", "top" or "average".
    name: a token keeps its vector under this name. By default it is the model's name (for a path, its last part and a
        hash of the model), the layers and, if it is not float32, the precision.

    The vectors come from `Elmo.encode` and are computed once: they are not trained. A saved tagger contains the model;
    import `elmokit.integrations.flair` before you load it. Raises ValueError for a layer that the model does not have,
    and the errors of `Elmo.from_pretrained`.
    """

    def __init__(
        self,
        model: Elmo | str | Path = DEFAULT_MODEL,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        embedding_mode: str | None = None,
        *,
        layers: Layers | None = None,
        name: str | None = None,
    ) -> None:
        if layers is not None and embedding_mode is not None:
            raise ValueError("layers and embedding_mode were given; expected one of them")
        if embedding_mode not in (None, "all", "top", "average"):
            raise ValueError(f"embedding_mode is {embedding_mode!r}; expected 'all', 'top' or 'average'")
        chosen = layers if layers is not None else cast("Layers", embedding_mode or DEFAULT_LAYERS)
        if (options_file is None) != (weight_file is None):
            raise ValueError("one file was given; expected both options_file and weight_file, or neither")
        if options_file is not None:
            model = Elmo(options_file, weights=weight_file, device=_flair.device)
        self.elmo = model if isinstance(model, Elmo) else Elmo.from_pretrained(model, device=_flair.device)
        self.layers: Layers = as_layers(chosen, top=self.elmo.config.num_layers)
        self.name = name or _default_name(self.elmo, self.layers)
        self.static_embeddings = True
        super().__init__()
        self.eval()

    @property
    def embedding_length(self) -> int:
        """Width of a vector: 2D, or L times 2D for all layers."""
        return self.elmo.dim * (self.elmo.num_layers if self.layers == "all" else 1)

    def _add_embeddings_internal(self, sentences: Sequence[Any]) -> None:
        tokens = [[token.text for token in sentence] for sentence in sentences]
        for sentence, vectors in zip(sentences, self.elmo.encode(tokens, layers=self.layers), strict=True):
            rows = np.concatenate(list(vectors), axis=-1) if self.layers == "all" else vectors
            for token, vector in zip(sentence, torch.from_numpy(rows).to(_flair.device), strict=True):
                token.set_embedding(self.name, vector)

    def to_params(self) -> dict[str, object]:
        """What flair saves: the files of the model in the native format, so that flair pickles no class of ours."""
        settings = {"layers": self.layers, "name": self.name, "precision": self.elmo.precision}
        return {"files": bytes_of(self.elmo), **settings}

    @classmethod
    def from_params(cls, params: Mapping[str, Any]) -> Self:
        """Make embeddings from the result of `to_params`. Raises FormatError if the model in it is damaged."""
        precision = params["precision"]
        device = "cpu" if precision == "int8" else _flair.device  # flair's may be a GPU, which has no int8
        elmo = elmo_of(params["files"], device=device, precision=precision)
        return cls(elmo, layers=params["layers"], name=params["name"])


def _default_name(elmo: Elmo, layers: Layers) -> str:
    model = elmo.name or ""
    if not (hub.is_address(model) or is_model_name(model)):
        model = "-".join(filter(None, (Path(model).name, elmo.fingerprint()[:12])))  # the same in any folder
    name = f"elmo-{model}-{layers}"
    return name if elmo.precision == "float32" else f"{name}-{elmo.precision}"
