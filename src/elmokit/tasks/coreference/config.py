"""Settings of the coreference resolver."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.bounds import check_bounds


@dataclass(frozen=True)
class CoreferenceConfig:
    """Sizes and limits of the resolver."""

    hidden_dim: int = 200
    """Width of the biLSTM, per direction."""
    max_width: int = 10
    """Tokens of the longest span."""
    spans_per_word: float = 0.4
    """Number of spans that are kept, as a share of the number of the document's tokens."""
    max_antecedents: int = 250
    """Number of kept spans before a span that are compared with it."""
    feature_dim: int = 20
    """Width of the embeddings of a span's width and of a pair's speakers, genre and distance."""
    scorer_dim: int = 150
    """Width of the two hidden layers that score a span, and of the two that score a pair."""
    input_dropout_rate: float = 0.5
    """Dropout of the tokens' vectors."""
    recurrent_dropout_rate: float = 0.2
    """Dropout of the biLSTM's state."""
    dropout_rate: float = 0.2
    """Dropout of the biLSTM's output, the hidden layers and the features."""
    max_train_sentences: int = 50
    """Number of sentences of a document that a training step reads, from a random one on; 0 reads all."""

    def __post_init__(self) -> None:
        check_bounds(
            self,
            positive=("hidden_dim", "max_width", "max_antecedents", "feature_dim", "scorer_dim"),
            counts=("max_train_sentences",),
            rates=("input_dropout_rate", "recurrent_dropout_rate", "dropout_rate"),
        )
        if not self.spans_per_word > 0:
            raise ValueError(f"spans_per_word is {self.spans_per_word}; it must be positive")
