"""Settings of the named-entity tagger, and its recipes.

A is AllenNLP's ner.jsonnet and ner_elmo.jsonnet, which reproduce the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from elmokit.tasks.config import ElmoInput, InputConfig, TaskConfig, TrainingConfig, check_bounds
from elmokit.tasks.task import recipes_by_name

_ELMO = ElmoInput(position="input", penalty=0.1)  # paper; the penalty is its lambda
_CPU_ELMO = replace(_ELMO, rescale=True)  # ours


@dataclass(frozen=True)
class NamedEntitiesConfig:
    """Sizes of the tagger; the defaults are the paper's widths, and the rate of A at the inputs."""

    first_dim: int = 200
    """Width of the first biLSTM, per direction."""
    second_dim: int = 100
    """Width of the second biLSTM, per direction; 200 in A."""
    dropout_rate: float = 0.5
    """Dropout at the input of both biLSTMs, of the same features at all tokens of a sentence."""
    output_dropout_rate: float = 0.0
    """Dropout before the dense layer, of the same kind."""

    def __post_init__(self) -> None:
        check_bounds(self, positive=("first_dim", "second_dim"), rates=("dropout_rate", "output_dropout_rate"))


def paper() -> TaskConfig:
    """Peters et al. (2018), appendix, but with GloVe's 50-d vectors (give their file) instead of Senna's."""
    return TaskConfig(
        model=NamedEntitiesConfig(output_dropout_rate=0.5),  # A, as the other rate; the paper gives none
        inputs=InputConfig(
            word_dim=50,  # paper
            train_word_vectors=True,  # paper
            min_word_count=2,  # ours: rare words that the file lacks teach the unknown word its vector
            character_dim=16,  # paper
            character_filters=((3, 128),),  # paper
            elmo=_ELMO,
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # paper, Adam, constant
            batch_size=64,  # A
            max_epochs=75,  # A
            patience=25,  # A
            clip_norm=5.0,  # paper
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: all sentences of CoNLL-2003, half the widths, few epochs.

    The learning rate, the dropout rates and ELMo's `rescale` are ours: experiments/LOG.md, 2026-11-21.
    """
    recipe = paper()
    return replace(
        recipe,
        model=NamedEntitiesConfig(first_dim=100, second_dim=64, dropout_rate=0.3, output_dropout_rate=0.3),
        inputs=replace(recipe.inputs, elmo=_CPU_ELMO, character_filters=((3, 64),)),
        training=replace(recipe.training, learning_rate=0.003, decay=0.95, batch_size=32, max_epochs=8, patience=8),
    )


def cpu_ko() -> TaskConfig:
    """The same for KLUE-NER, with the Korean biLM; the words (eojeol, of which few occur twice) start at random."""
    recipe = cpu()
    return replace(
        recipe,
        inputs=replace(recipe.inputs, elmo=replace(_CPU_ELMO, model="mini-ko")),
        training=replace(recipe.training, max_epochs=15, patience=15),  # each has a fifth of the steps of CoNLL-2003
    )


RECIPES = recipes_by_name(paper, cpu, {"cpu-ko": cpu_ko})
