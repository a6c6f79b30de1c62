"""Inputs of a task as a run makes them, without a run."""

from collections.abc import Sequence

import torch

from elmokit.tasks.config import InputConfig
from elmokit.tasks.inputs import TokenInputs, new_word_table
from elmokit.tasks.train import frozen_layers, read_elmo

Sentences = Sequence[Sequence[str]]


def new_inputs(config: InputConfig, training: Sentences, others: Sentences = ()) -> TokenInputs:
    """Inputs with weights of seed 0 for the words of the training set, on the CPU, in eval mode."""
    words = new_word_table(config, training, others, seed=0) if config.word_dim else None
    elmo = read_elmo(config.elmo, cache=None, device="cpu")
    if (frozen := frozen_layers(elmo)) is not None:
        frozen.add([*training, *others])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return TokenInputs(config, words=words, elmo=elmo).eval()
