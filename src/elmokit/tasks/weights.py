"""What a task's model is made of: the biLM that it reads, and its weights, checked before memory is taken for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from elmokit.elmo.elmo import Elmo
from elmokit.formats.read import read_bilm
from elmokit.layers.devices import find_device, on_meta_device, seeded
from elmokit.model.bilm import BiLM
from elmokit.model.vector_source import VectorSource
from elmokit.runs.optimizer_state import check_tensors, tensors_under
from elmokit.runs.tensor_files import read_tensors
from elmokit.system.messages import FormatError
from elmokit.tasks.config import ElmoInput
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.run_folder import TaskRecord
from elmokit.tasks.task import E, P, Task
from elmokit.tasks.task_model import TaskModel
from elmokit.tasks.word_table import WordTable
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import recognise


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


def new_model(
    task: Task[E, P],
    record: TaskRecord,
    words: WordTable | None,
    elmo: VectorSource | BiLM | None,
    *,
    device: str | torch.device | None,
) -> TaskModel:
    """A model with fresh weights from the seed, which is set again after the inputs.

    So the rest of the model starts as similarly as it can with ELMo and without.
    """
    with seeded(record.config.training.seed):
        inputs = TokenInputs(record.config.inputs, words=words, elmo=elmo)
    with seeded(record.config.training.seed):
        model = task.build(record.config.model, inputs, record.symbols)
    return model.to(find_device(device))


def read_weights(
    path: Path,
    task: Task[Any, Any],
    record: TaskRecord,
    words: WordTable | None,
    elmo: VectorSource | BiLM | None,
    *,
    prefix: str = "",
) -> dict[str, Tensor]:
    """Read the weights in a file, compared with the model that the record describes, which is built without memory.

    prefix: of the names of the model's tensors in the file; without one, the file has no other tensors.
    Raises FormatError for a model that cannot be built, and as `check_tensors` does.
    """
    weights = tensors_under(prefix, read_tensors(path))
    try:
        with on_meta_device():
            inputs = TokenInputs(record.config.inputs, words=words, elmo=elmo)
            model = task.build(record.config.model, inputs, record.symbols)
    except (ValueError, RuntimeError, OverflowError) as error:  # torch has a largest number of numbers
        raise FormatError(path.with_name("config.json"), f"describes no model: {error}") from None
    check_tensors(path, weights, model.state_dict())
    return weights
