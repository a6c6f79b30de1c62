"""Sizes of the sentiment classifier, and what it reads of the trees."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SentimentConfig:
    """What is read of the trees of the Stanford Sentiment Treebank, and the sizes of the classifier."""

    num_classes: int = 5
    """Of trees: 5, or 2 without what is neutral. A table has those that it has."""
    phrases: bool = True
    """Train on all phrases of the trees instead of the sentences alone."""
    min_phrase_tokens: int = 1
    """Shorter phrases are left out."""
    classifier: str = "bcn"
    """bcn, or bilstm: the encoder, its maximum and mean over the tokens, and a linear layer."""
    projection_dim: int = 300
    """Width of the ReLU layer between a token's vector and the encoder."""
    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    integrator_dim: int = 300
    """Width of the biLSTM over the biattention, per direction; of bcn, as are the ones below."""
    maxout_dims: tuple[int, int] = (1200, 600)
    """Widths of the two layers before the last one, which is a maxout layer too."""
    maxout_pool_size: int = 4
    """Linear functions whose maximum is one output."""
    input_dropout_rate: float = 0.25
    """Of the tokens' vectors."""
    projection_dropout_rate: float = 0.25
    """After the ReLU layer."""
    integrator_dropout_rate: float = 0.1
    """After the second biLSTM."""
    output_dropout_rates: tuple[float, float] = (0.2, 0.3)
    """After the maxout layers; the first one also before the linear layer of bilstm."""
