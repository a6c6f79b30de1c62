"""Opens the files of a task's inputs: word vectors, a biLM and the cache of its activations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from elmokit.elmo.elmo import Elmo
from elmokit.formats.read import read_bilm
from elmokit.model.bilm import BiLM
from elmokit.model.vector_source import VectorSource
from elmokit.tasks.config import ElmoInput, InputConfig
from elmokit.tasks.run_folder import TaskRecord
from elmokit.tasks.word_table import WordTable, new_word_table
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import recognise

Sentences = Sequence[Sequence[str]]


def read_words(config: InputConfig, training: Sentences, others: Sentences, *, seed: int) -> WordTable | None:
    """The words of the data with their vectors, as `new_word_table` makes them; None if the config uses none."""
    return new_word_table(config, training, others, seed=seed) if config.word_dim else None


def read_elmo(
    config: ElmoInput | None, *, cache: Path | None, device: str | torch.device | None
) -> VectorSource | BiLM | None:
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
        return FileVectorSource(config.model)
    if config.train:
        return read_bilm(config.model)[0]
    return CachedActivations(Elmo.from_pretrained(config.model, device=device), folder=cache)


def check_elmo(record: TaskRecord, elmo: VectorSource | BiLM | None, run_dir: Path) -> None:
    """Raise ValueError if the biLM is not the one that the task was trained with."""
    frozen = frozen_layers(elmo)
    if frozen is not None and (found := frozen.fingerprint()) != record.fingerprint:
        raise ValueError(
            f"{run_dir} was trained with the biLM of fingerprint {record.fingerprint}; the one given has {found}, so "
            "its vectors are different; give the biLM of the training"
        )


def frozen_layers(elmo: VectorSource | BiLM | None) -> VectorSource | None:
    """The layers that do not change; None without ELMo, and for a biLM that is trained with the task."""
    return None if isinstance(elmo, nn.Module) else elmo
