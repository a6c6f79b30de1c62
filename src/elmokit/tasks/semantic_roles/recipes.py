"""Settings of the parser of semantic roles, and its recipes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elmokit.tasks.config import ElmoInput, InputConfig, TaskConfig, TrainingConfig, check_bounds
from elmokit.tasks.task import recipes_by_name

MAX_LAYERS = 64
_ELMO = ElmoInput(
    position="input",  # Peters, table 3
    dropout_rate=0.1,  # A
    penalty=0.001,  # A; Peters, table 2
)


@dataclass(frozen=True)
class SemanticRolesConfig:
    """Sizes of the parser, and its longest training sentence; the defaults are those of He et al. (2017)."""

    flag_dim: int = 100
    """Width of the embedding of the flag that marks the predicate; He's code, all others section 4."""
    hidden_dim: int = 300
    """Width of each LSTM layer."""
    num_layers: int = 8
    """Number of LSTM layers; every second one reads backward."""
    recurrent_dropout_rate: float = 0.1
    """Dropout of the LSTMs' states."""
    input_dropout_rate: float = 0.0
    """Dropout of the tokens' vectors, but not of the flag, of the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """Dropout before the dense layer, of the same kind."""
    max_train_tokens: int = 100
    """Longer sentences of the training set are skipped; 0 keeps all. He's configuration has 100."""

    def __post_init__(self) -> None:
        rates = ("recurrent_dropout_rate", "input_dropout_rate", "output_dropout_rate")
        check_bounds(self, positive=("flag_dim", "hidden_dim"), counts=("max_train_tokens",), rates=rates)
        if not 1 <= self.num_layers <= MAX_LAYERS:
            raise ValueError(f"num_layers is {self.num_layers}; expected 1 to {MAX_LAYERS}")


def paper() -> TaskConfig:
    """The model of He et al. (2017), which Peters et al. (2018) use; A is AllenNLP's configuration with ELMo.

    Give GloVe's 100-d vectors (6B). Gradients are clipped by value, as Peters et al. write; He et al.'s code clips
    their norm.
    """
    return TaskConfig(
        model=SemanticRolesConfig(),
        inputs=InputConfig(
            word_dim=100,  # He, section 4
            train_word_vectors=True,  # He
            lower_case=True,  # He
            min_word_count=2,  # ours; He: all words that GloVe lacks share one vector
            elmo=_ELMO,
        ),
        training=TrainingConfig(
            optimizer="adadelta",  # He, section 4: rho 0.95, epsilon 1e-6
            learning_rate=1.0,  # Peters, appendix
            batch_size=80,  # He, section 4
            max_epochs=500,  # He, section 4
            patience=200,  # Peters, appendix
            clip_value=1.0,  # Peters, appendix
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: half of the layers, a third of the width, Adam, sentences of up to 40 tokens.

    They have 22,949 of the 26,434 predicates of the English Web Treebank's training set.
    """
    recipe = paper()
    return replace(
        recipe,
        model=SemanticRolesConfig(
            flag_dim=16,
            hidden_dim=96,
            num_layers=4,
            recurrent_dropout_rate=0.05,
            input_dropout_rate=0.1,  # ELMo's too
            max_train_tokens=40,
        ),
        inputs=replace(recipe.inputs, word_dim=50, elmo=replace(_ELMO, rescale=True, dropout_rate=0.0)),
        training=replace(
            recipe.training,
            optimizer="adam",  # faster than Adadelta over so few steps
            learning_rate=0.006,
            batch_size=64,
            max_epochs=7,
            patience=7,
            decay=0.93,  # to a sixth over the 2,513 steps
            clip_norm=5.0,
            clip_value=0.0,
            max_dev_examples=1_000,
        ),
    )


RECIPES = recipes_by_name(paper, cpu)
