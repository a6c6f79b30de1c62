"""`ElmoVectorizer`: texts -> pooled vectors, as a transformer of scikit-learn (extra `sklearn`).

Pooled vectors of a small biLM are weak features: a bag of words classifies better (docs/integrations/sklearn.md).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.encoding import tokens_of_each
from elmokit.formats.find import DEFAULT_MODEL
from elmokit.system.optional import require

if TYPE_CHECKING:
    from jaxtyping import Float32
    from numpy import ndarray

    from elmokit.elmo.encoding import Layers, Pooling, Sentence

    class Estimator:  # scikit-learn has no types
        def __getattr__(self, name: str) -> Any: ...
else:
    base = require("sklearn.base", extra="sklearn", purpose="ElmoVectorizer", package="scikit-learn")

    class Estimator(base.ClassNamePrefixFeaturesOutMixin, base.TransformerMixin, base.BaseEstimator):
        pass


_validation: Any = require(
    "sklearn.utils.validation", extra="sklearn", purpose="ElmoVectorizer", package="scikit-learn"
)


class ElmoVectorizer(Estimator):
    """Texts, or lists of tokens -> an array (N,2D) of pooled token vectors, one row per text.

    model: an `Elmo`, the name of a bundled model, or what `Elmo.from_pretrained` opens.
    layers: as in `Elmo.encode`, but not "all".
    pooling: "mean" or "max" over the tokens; a text without tokens gets zeros.
    normalize: whether to scale each vector to length 1.
    batch_size: number of texts to encode at once.
    device: "cpu" or "cuda"; by default the GPU if there is one. An `Elmo` given as `model` stays where it is.

    Nothing is learned: `fit` loads the model (`elmo_`) and remembers the width (`n_features_out_`). A fitted vectorizer
    is pickled with the weights of its model.
    """

    def __init__(
        self,
        model: Elmo | str | Path = DEFAULT_MODEL,
        *,
        layers: Layers = "top",
        pooling: Pooling = "mean",
        normalize: bool = False,
        batch_size: int = 128,
        device: str | None = None,
    ) -> None:
        self.model = model
        self.layers: Layers = layers
        self.pooling: Pooling = pooling
        self.normalize = normalize
        self.batch_size = batch_size
        self.device = device

    def fit(self, X: Iterable[Sentence], y: object = None) -> ElmoVectorizer:  # noqa: N803 - scikit-learn's name
        """Load the model.

        Raises ValueError for a table instead of texts, and for settings that `transform` would refuse,
        and the errors of `from_pretrained`.
        """
        del y
        _checked(X)
        if (isinstance(self.layers, str) and self.layers == "all") or self.pooling not in ("mean", "max"):
            raise ValueError(
                f"layers is {self.layers!r} and pooling {self.pooling!r}; expected 'top', 'average', the number of a "
                "layer or a weight for each, and 'mean' or 'max'"
            )
        self.elmo_: Elmo = self.model if isinstance(self.model, Elmo) else Elmo(self.model, device=self.device)
        self.n_features_out_: int = self.elmo_.dim
        self._encode([])  # raises ValueError for a layer that the model lacks, and for other wrong settings
        return self

    def transform(self, X: Iterable[Sentence]) -> Float32[ndarray, "N E"]:  # noqa: N803
        """The vectors of texts, float32.

        Raises NotFittedError before `fit`, and ValueError as `fit` and `Elmo.encode` do.
        """
        _validation.check_is_fitted(self, "elmo_")
        return self._encode(tokens_of_each(_checked(X)))

    def _encode(self, sentences: list[list[str]]) -> Float32[ndarray, "N E"]:
        return self.elmo_.encode(
            sentences,
            layers=self.layers,
            pooling=self.pooling,
            normalize_embeddings=self.normalize,
            batch_size=self.batch_size,
            show_progress_bar=False,
        )

    @property
    def _n_features_out(self) -> int:
        """The number of features for `get_feature_names_out`, under the name that scikit-learn's mixin expects."""
        return self.n_features_out_

    def __sklearn_tags__(self) -> Any:
        """The input is texts, not a table; fitting needs no labels; the output is float32."""
        tags = cast("Any", super()).__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags


def _checked(texts: Iterable[Sentence]) -> Iterable[Sentence]:
    num_axes = getattr(texts, "ndim", 1)  # arrays and pandas objects have it
    if num_axes > 1:
        raise ValueError(
            f"expected texts, or lists of tokens, got a table ({type(texts).__name__} with {num_axes} axes); give one "
            "column of it, in a ColumnTransformer as 0, not as [0]"
        )
    return texts
