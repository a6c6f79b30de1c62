"""Settings and recipes of the entailment classifier. P is Peters et al. (2018), appendix; A AllenNLP's esim.jsonnet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elmokit.tasks.config import ElmoInput, InputConfig, TaskConfig, TrainingConfig, check_bounds, until_converged
from elmokit.tasks.task import recipes_by_name

_ELMO = ElmoInput(position="both", layer_norm=True, penalty=0.001)  # P; the penalty is its lambda
_CPU_ELMO = replace(_ELMO, layer_norm=False, rescale=True, dropout_rate=0.2)


@dataclass(frozen=True)
class EntailmentConfig:
    """Sizes of the classifier; the widths are those of P and of Chen et al. (2017), section 5, the rates those of P."""

    encoder_dim: int = 300
    """Width of the first biLSTM, per direction."""
    projection_dim: int = 300
    """Width of the ReLU layer between the alignment and the second biLSTM."""
    inference_dim: int = 300
    """Width of the second biLSTM, per direction."""
    hidden_dim: int = 300
    """Width of the ReLU layer before the scores."""
    lstm_dropout_rate: float = 0.5
    """Dropout before both biLSTMs, of the same features at all tokens of a sentence."""
    attention_dropout_rate: float = 0.0
    """Dropout after the alignment."""
    output_dropout_rate: float = 0.5
    """Dropout before each of the last two layers."""

    def __post_init__(self) -> None:
        widths = ("encoder_dim", "projection_dim", "inference_dim", "hidden_dim")
        rates = ("lstm_dropout_rate", "attention_dropout_rate", "output_dropout_rate")
        check_bounds(self, positive=widths, rates=rates)


def paper() -> TaskConfig:
    """ESIM (Chen et al., 2017) as in P; give GloVe's 300-d vectors (840B)."""
    return TaskConfig(
        model=EntailmentConfig(
            attention_dropout_rate=0.5,  # P has it with ELMo alone; here it is the same for both
        ),
        inputs=InputConfig(
            word_dim=300,  # P
            train_word_vectors=False,  # P
            lower_case=True,  # A
            elmo=_ELMO,
        ),
        training=TrainingConfig(
            learning_rate=0.0004,  # P, Adam
            batch_size=32,  # P
            max_epochs=75,  # A
            patience=5,  # A
            halve_after=1,  # P: whenever the accuracy on the development set fails to improve
            clip_norm=5.0,  # P
            # P, with ELMo alone: 0.0001 times the squares of all matrices, whose gradient is twice as large
            weight_decay=0.0002,
            decay_biases=False,
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: a fifth of the width, a subset of SNLI, and no layer norm.

    So a pair's result does not depend on its batch. Without ELMo, 20,000 pairs give 68.5 % on the development set with
    dropout of 0.2 and 0.3 at a learning rate of 0.001, and 74.5 % with the settings here.
    """
    recipe = paper()
    return replace(
        recipe,
        model=EntailmentConfig(
            encoder_dim=64,
            projection_dim=64,
            inference_dim=64,
            hidden_dim=64,
            lstm_dropout_rate=0.1,
            output_dropout_rate=0.1,
        ),
        inputs=replace(recipe.inputs, word_dim=50, min_word_count=2, elmo=_CPU_ELMO),
        training=replace(
            recipe.training,
            learning_rate=0.002,
            max_epochs=7,
            patience=7,
            weight_decay=0.0,
            decay_biases=True,
            max_dev_examples=2_000,
        ),
    )


def cpu_output() -> TaskConfig:
    """`cpu-converged` with ELMo at the output of the encoder alone, and more dropout of its vectors.

    With 20,000 pairs that is better on the development set than ELMo at both places: experiments/LOG.md, 2026-11-23.
    """
    recipe = until_converged(cpu)
    elmo = replace(_CPU_ELMO, position="output", dropout_rate=0.5)  # AllenNLP's advice on dropout
    return replace(recipe, inputs=replace(recipe.inputs, elmo=elmo))


RECIPES = recipes_by_name(paper, cpu, {"cpu-output": cpu_output})
