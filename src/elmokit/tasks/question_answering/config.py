"""Settings of the answer finder."""

from __future__ import annotations

from dataclasses import dataclass

from elmokit.tasks.bounds import check_bounds


@dataclass(frozen=True)
class QuestionAnsweringConfig:
    """Sizes of the network, and limits of what it reads and gives."""

    hidden_dim: int = 100
    """Width of every biGRU, per direction; the dense layers are twice as wide."""
    dropout_rate: float = 0.2
    """Dropout before and after the biGRUs, of the same features at all tokens of a text."""
    max_answer_tokens: int = 17
    """Number of tokens of the longest answer that is predicted."""
    max_train_tokens: int = 0
    """Training passages are cut after this many tokens, and questions that lose their answer are skipped; 0 cuts
    nothing. Passages are never cut for evaluation."""

    def __post_init__(self) -> None:
        check_bounds(
            self, positive=("hidden_dim", "max_answer_tokens"), counts=("max_train_tokens",), rates=("dropout_rate",)
        )
