"""Sizes of the parser of semantic roles."""

from __future__ import annotations

from dataclasses import dataclass

MAX_LAYERS = 64


@dataclass(frozen=True)
class SemanticRolesConfig:
    """Sizes of the parser."""

    flag_dim: int = 100
    """Width of the embedding that says whether a token is the predicate."""
    hidden_dim: int = 300
    num_layers: int = 8
    recurrent_dropout_rate: float = 0.1
    input_dropout_rate: float = 0.0
    """Of the word vectors, not of the flag; the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """The same before the dense layer."""
    max_train_tokens: int = 100
    """Longer sentences are left out of the training set; 0 keeps all."""

    def __post_init__(self) -> None:
        if not 1 <= self.num_layers <= MAX_LAYERS:
            raise ValueError(f"num_layers is {self.num_layers}; expected 1 to {MAX_LAYERS}")
