"""Opens the files of a task's inputs: word vectors, a biLM and the cache of its activations -> `TokenInputs`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import nn

from elmokit.model.elmo import Elmo
from elmokit.model.formats.read import read_bilm
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.words import WordTable, new_word_table
from elmokit.vectors.cache import Activations
from elmokit.vectors.files import recognise
from elmokit.vectors.stored_layers import StoredLayers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from elmokit.model.bilm import BiLM
    from elmokit.model.frozen_layers import FrozenLayers
    from elmokit.tasks.config import ElmoInput, InputConfig

    Sentences = Sequence[Sequence[str]]


def new_inputs(
    config: InputConfig,
    training: Sentences,
    others: Sentences = (),
    *,
    seed: int = 0,
    cache: Path | None = None,
    device: str | torch.device | None = None,
) -> TokenInputs:
    """Inputs with fresh weights for the training set's words. They are on the CPU; a frozen biLM runs on `device`.

    others: sentences of the development and test sets (see `new_word_table`).
    cache: folder of the activations of frozen biLMs (`default_cache()`); None computes them again.
    """
    words = read_words(config, training, others, seed=seed)
    elmo = read_elmo(config.elmo, cache=cache, device=device)
    if (frozen := frozen_layers(elmo)) is not None:
        frozen.add([*training, *others])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TokenInputs(config, words=words, elmo=elmo)


def read_words(config: InputConfig, training: Sentences, others: Sentences, *, seed: int) -> WordTable | None:
    """The words of the data with their vectors, as `new_word_table` makes them; None if the config uses none."""
    if config.word_dim == 0:
        return None
    return new_word_table(
        training,
        others,
        path=config.word_vectors,
        unit_length=config.unit_word_vectors,
        dim=config.word_dim,
        trainable=config.train_word_vectors,
        lower_case=config.lower_case,
        min_count=config.min_word_count,
        num_extra=config.num_extra_words,
        seed=seed,
    )


def read_elmo(
    config: ElmoInput | None, *, cache: Path | None, device: str | torch.device | None
) -> FrozenLayers | BiLM | None:
    """Open the biLM if it is trained, the activations of a frozen one, or another system's vectors; None without ELMo.

    Raises ValueError if vectors from a file are to be trained, and what reading a model raises.
    """
    if config is None:
        return None
    if recognise(config.model) is not None:
        if config.train:
            raise ValueError(
                f"elmo.train is true, but {config.model} holds fixed vectors; give a model, or set elmo.train=false"
            )
        return StoredLayers(config.model)
    if config.train:
        return read_bilm(config.model)[0]
    return Activations(Elmo.from_pretrained(config.model, device=device), folder=cache)


def frozen_layers(elmo: FrozenLayers | BiLM | None) -> FrozenLayers | None:
    """The layers that do not change; None without ELMo, and for a biLM that is trained with the task."""
    return None if isinstance(elmo, nn.Module) else elmo


def with_word_dim(config: InputConfig, words: WordTable | None) -> InputConfig:
    """The config with the actual width of the word vectors."""
    return config if words is None else replace(config, word_dim=words.vectors.shape[1])
