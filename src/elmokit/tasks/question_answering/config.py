"""Sizes of the finder of answers, and what it reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QuestionAnsweringConfig:
    """Sizes of the network, and what it reads."""

    hidden_dim: int = 100
    """Width of every biGRU, per direction; the dense layers have twice that."""
    dropout_rate: float = 0.2
    """Around the biGRUs; the same features at all tokens of a text."""
    max_answer_tokens: int = 17
    """Longest answer that is given."""
    max_train_tokens: int = 0
    """Training passages are cut after that many tokens, and questions that lose their answer by that are left out;
    0 keeps all. Nothing is cut to evaluate."""
