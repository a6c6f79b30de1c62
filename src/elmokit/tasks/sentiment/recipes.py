"""Recipes of the sentiment classifier. A is AllenNLP's BCN (sst_5_bcn.jsonnet and its ELMo twin), which reached 51.3
and 54.7 with one seed; `paper` mixes it with what the paper says, each line by its source, and has not been run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from elmokit.tasks.config import ElmoInput, InputConfig, TaskConfig, TrainingConfig
from elmokit.tasks.convergence import until_converged
from elmokit.tasks.sentiment.config import SentimentConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ELMO = ElmoInput(position="both", penalty=0.001)  # paper; the penalty is its lambda
_CPU_ELMO = replace(_ELMO, rescale=True, dropout_rate=0.5)  # ours


def paper() -> TaskConfig:
    """BCN, trained on the phrases of the trees; give a file of 300-d vectors (A: GloVe 840B)."""
    return TaskConfig(
        model=SentimentConfig(
            num_classes=5,  # paper
            phrases=True,  # paper
            min_phrase_tokens=4,  # paper; A has all
            classifier="bcn",  # paper
            projection_dim=300,  # paper and A, as the other widths of 300
            encoder_dim=300,
            integrator_dim=300,
            maxout_dims=(1200, 600),  # A, after McCann et al. (2017); the paper has two ReLU layers here
            maxout_pool_size=4,  # A
            input_dropout_rate=0.25,  # A, and 0.5 with ELMo: here it is the same for both
            projection_dropout_rate=0.25,  # A
            integrator_dropout_rate=0.1,  # A, which applies it to the pools; here it comes before them
            output_dropout_rates=(0.2, 0.3),  # A
        ),
        inputs=InputConfig(
            word_dim=300,  # A
            train_word_vectors=False,  # A
            lower_case=False,  # A
            elmo=_ELMO,
        ),
        training=TrainingConfig(
            learning_rate=0.001,  # A, Adam; the paper has 0.0001
            batch_size=100,  # A
            max_epochs=40,  # A
            patience=5,  # A
            clip_norm=5.0,  # A
        ),
    )


def cpu() -> TaskConfig:
    """Trains in minutes on one core: the sentences without their phrases, a third of the width, few epochs.

    The moving average, ELMo's dropout and `rescale` are ours: experiments/LOG.md, 2026-11-21.
    """
    recipe = paper()
    return replace(
        recipe,
        model=replace(
            recipe.model,
            phrases=False,
            projection_dim=100,
            encoder_dim=100,
            integrator_dim=100,
            maxout_dims=(200, 100),
        ),
        inputs=replace(recipe.inputs, word_dim=50, lower_case=True, elmo=_CPU_ELMO),
        training=replace(recipe.training, batch_size=32, max_epochs=10, patience=4, average_decay=0.998),
    )


def cpu_cnn() -> TaskConfig:
    """The CNN of Kim (2014), on fixed word vectors ("CNN-static"), in place of BCN; trained as `cpu_converged`.

    Ten epochs, as in `cpu`, are too few: experiments/LOG.md, 2026-11-22.
    """
    recipe = cpu()
    return replace(
        recipe,
        model=replace(
            recipe.model,
            classifier="cnn",
            cnn_filters=((3, 100), (4, 100), (5, 100)),  # Kim, section 3.1
            input_dropout_rate=0.0,  # Kim
            output_dropout_rates=(0.5, 0.0),  # Kim, section 3.1
        ),
        training=replace(until_converged(recipe.training), batch_size=50),  # Kim, section 3.1
    )


def cpu_ko() -> TaskConfig:
    """The same for 10,000 of NSMC's 140,000 reviews, with the Korean biLM; words start at random and are learnt."""
    recipe = cpu()
    return replace(
        recipe,
        inputs=replace(
            recipe.inputs, elmo=replace(_CPU_ELMO, model="mini-ko"), train_word_vectors=True, min_word_count=2
        ),
        training=replace(recipe.training, max_epochs=6, max_train_examples=10_000, max_dev_examples=2_000),
    )


def cpu_converged() -> TaskConfig:
    """`cpu`, trained until the score on the development set stops improving."""
    recipe = cpu()
    return replace(recipe, training=until_converged(recipe.training))


def cpu_output() -> TaskConfig:
    """`cpu_converged` with ELMo at the output of the encoder alone.

    That is better on the development set than ELMo at both places: experiments/LOG.md, 2026-11-23.
    """
    recipe = cpu_converged()
    return replace(recipe, inputs=replace(recipe.inputs, elmo=replace(_CPU_ELMO, position="output")))


RECIPES: Mapping[str, Callable[[], TaskConfig]] = {
    "paper": paper,
    "cpu": cpu,
    "cpu-converged": cpu_converged,
    "cpu-output": cpu_output,
    "cpu-cnn": cpu_cnn,
    "cpu-ko": cpu_ko,
}
