"""Settings of the sentiment classifier."""

from __future__ import annotations

from dataclasses import dataclass


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
    """bcn, or bilstm (the encoder, the maximum and mean of its output over the tokens, and a linear layer)."""
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
    """Dropout after the first and the second maxout layer; bilstm uses the first rate before its linear layer."""
