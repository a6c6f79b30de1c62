"""Settings and recipes of the answer finder. O is Clark and Gardner's code (document-qa), with its script for ELMo."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elmokit.tasks.config import ElmoInput, InputConfig, TaskConfig, TrainingConfig, check_bounds, until_converged
from elmokit.tasks.task import recipes_by_name

_ELMO = ElmoInput(
    position="both",  # Peters et al. (2018), appendix
    dropout_rate=0.5,  # O
    penalty=0.0,  # O
)


@dataclass(frozen=True)
class QuestionAnsweringConfig:
    """Sizes of the network, and limits of what it reads and gives; the defaults are those of O without ELMo."""

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


def paper() -> TaskConfig:
    """BiDAF with self-attention; give GloVe's 300-d vectors (840B)."""
    return TaskConfig(
        model=QuestionAnsweringConfig(hidden_dim=90),  # O with ELMo; 100 without: here it is the same for both
        inputs=InputConfig(
            word_dim=300,  # O
            train_word_vectors=False,  # O
            lower_case=False,  # O, which falls back to lower case
            character_dim=20,  # O
            character_filters=((5, 100),),  # O, without its dropout on the characters
            max_characters=16,  # O: 14 letters, and a token's two boundaries
            elmo=_ELMO,
        ),
        training=TrainingConfig(
            optimizer="adadelta",  # O
            adadelta_epsilon=1e-8,  # O
            learning_rate=1.0,  # O
            batch_size=45,  # O
            max_epochs=24,  # O with ELMo; 26 without
            patience=24,
            average_decay=0.999,  # O
            average_warm_up=False,  # O
        ),
    )


def cpu() -> TaskConfig:
    """Trains in a quarter of an hour on one core: half the width, Adam, a subset of the questions, passages cut.

    In so few steps dropout does more harm than good: without ELMo, F1 after three epochs of 5,000 questions is 25.5 at
    a rate of 0.2, 32.0 at 0.1 and 35.2 without (experiments/LOG.md). The dropout of ELMo's vectors stays as in O.
    """
    recipe = paper()
    return replace(
        recipe,
        model=replace(recipe.model, hidden_dim=48, dropout_rate=0.05, max_train_tokens=150),
        inputs=replace(
            recipe.inputs,
            word_dim=50,
            lower_case=True,
            min_word_count=2,
            elmo=replace(_ELMO, rescale=True),
        ),
        training=replace(
            recipe.training,
            optimizer="adam",
            adadelta_epsilon=1e-6,
            average_warm_up=True,
            learning_rate=0.004,
            batch_size=32,
            max_epochs=6,
            patience=6,
            clip_norm=5.0,
            max_train_examples=10_000,
            max_dev_examples=500,
            spread_dev=True,
        ),
    )


def cpu_converged() -> TaskConfig:
    """`cpu`, trained until the score on the development set stops improving.

    That set is about every seventh article instead of the first four, and the 500 questions are from all of them.
    """
    recipe = until_converged(cpu)
    return replace(recipe, training=replace(recipe.training, dev_share=0.15))


RECIPES = recipes_by_name(paper, cpu, {"cpu-converged": cpu_converged})
