"""Settings of the sentiment classifier."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.bounds import check_bounds

CLASSIFIERS = ("bcn", "bilstm", "cnn")
"""Names of the networks in `model.NETWORKS`."""


@dataclass(frozen=True)
class SentimentConfig:
    """What is read from the trees of the Stanford Sentiment Treebank, and the sizes of the classifier."""

    num_classes: int = 5
    """Number of classes read from trees: 5, or 2, without the neutral ones. The labels of a table are its classes."""
    phrases: bool = True
    """Whether to train on all phrases of the trees instead of only the sentences."""
    min_phrase_tokens: int = 1
    """Shorter phrases are skipped in training."""
    classifier: str = "bcn"
    """bcn; bilstm (the encoder, the maximum and mean of its output over the tokens, and a linear layer); or cnn (the
    largest response of each filter over the tokens, and a linear layer)."""
    cnn_filters: tuple[tuple[int, int], ...] = ((3, 100), (4, 100), (5, 100))
    """(width in tokens, number) of the filters of cnn, which uses none of the other widths."""
    projection_dim: int = 300
    """Width of the ReLU layer between a token's vector and the encoder."""
    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    integrator_dim: int = 300
    """Width of the biLSTM over the biattention, per direction; only bcn uses this field and those below."""
    maxout_dims: tuple[int, int] = (1200, 600)
    """Widths of the two maxout layers before the last one, which is a maxout layer too."""
    maxout_pool_size: int = 4
    """Number of linear functions whose maximum is one output of a maxout layer."""
    input_dropout_rate: float = 0.25
    """Dropout of the tokens' vectors."""
    projection_dropout_rate: float = 0.25
    """Dropout after the ReLU layer."""
    integrator_dropout_rate: float = 0.1
    """Dropout after the second biLSTM."""
    output_dropout_rates: tuple[float, float] = (0.2, 0.3)
    """Dropout after the first and the second maxout layer; bilstm and cnn use the first rate before their linear
    layer."""

    def __post_init__(self) -> None:
        if self.classifier not in CLASSIFIERS:
            raise ValueError(f"classifier is {self.classifier!r}; expected one of {', '.join(CLASSIFIERS)}")
        check_bounds(
            self,
            positive=("projection_dim", "encoder_dim", "integrator_dim", "maxout_dims", "maxout_pool_size"),
            counts=("min_phrase_tokens",),
            rates=("input_dropout_rate", "projection_dropout_rate", "integrator_dropout_rate", "output_dropout_rates"),
        )
        pairs = tuple((width, number) for width, number in self.cnn_filters)
        object.__setattr__(self, "cnn_filters", pairs)
        if not pairs or min(min(pair) for pair in pairs) < 1:
            raise ValueError(f"cnn_filters are {pairs}; expected pairs of a width and a number of at least 1")
