"""Settings of the coreference resolver, and its recipes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elmokit.tasks.config import ElmoInput, InputConfig, TaskConfig, TrainingConfig, check_bounds
from elmokit.tasks.task import recipes_by_name

_ELMO = ElmoInput(position="input", penalty=0.0)  # Peters, appendix


@dataclass(frozen=True)
class CoreferenceConfig:
    """Sizes and limits of the resolver; the defaults are those of Lee et al. (2017), sections 7.1 and 7.2."""

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
    """Dropout of the tokens' vectors; ELMo's 0.5 (Peters, appendix) is this one."""
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


def paper() -> TaskConfig:
    """Lee et al. (2017) and the branch "e2e" of their code, with ELMo as Peters et al. (2018) add it.

    Give GloVe's 300-d vectors (840B); Lee et al. add 50 dimensions of Turian's.
    """
    return TaskConfig(
        model=CoreferenceConfig(),
        inputs=InputConfig(
            word_dim=300,  # Lee, section 7.1
            train_word_vectors=False,  # Lee's code
            unit_word_vectors=True,  # Lee's code
            lower_case=False,  # Lee's code
            character_dim=8,  # Lee, section 7.1
            character_filters=((3, 50), (4, 50), (5, 50)),  # Lee, section 7.1
            elmo=_ELMO,
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # Lee, section 7.2, Adam
            batch_size=1,  # Lee, section 7.2
            max_epochs=150,  # Lee, section 7.2
            patience=150,  # Lee's code stops by hand
            decay=0.999,  # Lee, section 7.2: 0.1 % every 100 steps
            decay_steps=100,
            clip_norm=5.0,  # Lee's code
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: a third of the width, fewer spans, antecedents and sentences per step.

    Little dropout and a high learning rate suit 1,770 steps: without ELMo, average F1 on OntoGUM's development set is
    41.4 with dropout in the paper's proportion (0.3, 0.2, 0.2) at a rate of 0.002, 45.0 with all three at 0.1, and 48.0
    with these at 0.004.
    """
    recipe = paper()
    return replace(
        recipe,
        model=replace(
            recipe.model,
            hidden_dim=64,
            spans_per_word=0.3,
            max_antecedents=100,
            scorer_dim=64,
            input_dropout_rate=0.1,  # ELMo's too
            recurrent_dropout_rate=0.1,
            dropout_rate=0.1,
            max_train_sentences=20,
        ),
        inputs=replace(
            recipe.inputs,
            word_dim=50,
            unit_word_vectors=False,
            lower_case=True,
            character_filters=((3, 30), (4, 30), (5, 30)),
            max_characters=20,
            elmo=replace(_ELMO, rescale=True, dropout_rate=0.3),
        ),
        training=replace(
            recipe.training,
            learning_rate=0.004,
            max_epochs=10,
            patience=10,
            decay=0.9,  # to a sixth over the 1,770 steps of OntoGUM
        ),
    )


RECIPES = recipes_by_name(paper, cpu)
