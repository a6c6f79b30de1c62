"""Sizes of the coreference resolver, and what it looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CoreferenceConfig:
    """Sizes of the resolver, and what it looks at."""

    hidden_dim: int = 200
    """Of the biLSTM, per direction."""
    max_width: int = 10
    """Tokens of a span."""
    spans_per_word: float = 0.4
    """Spans that are kept, as a share of the document's tokens."""
    max_antecedents: int = 250
    """Spans before a span, of those kept, that it is compared with."""
    feature_dim: int = 20
    """Width of the embeddings of a span's width and of a pair's speakers, genre and distance."""
    scorer_dim: int = 150
    """Width of the two hidden layers that score a span, and of the two that score a pair."""
    input_dropout_rate: float = 0.5
    recurrent_dropout_rate: float = 0.2
    dropout_rate: float = 0.2
    """Of the biLSTM's output, the hidden layers and the features."""
    max_train_sentences: int = 50
    """Sentences of a document that a training step reads, from a random one on; 0 reads all."""
