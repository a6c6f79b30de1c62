"""What a task's model is made of: the biLM that it reads, and its weights, checked before memory is taken for them."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import torch
from torch import Tensor, nn

from elmokit.elmo.elmo import Elmo
from elmokit.formats.read import read_bilm
from elmokit.layers.devices import find_device, on_meta_device, seeded
from elmokit.model.bilm import BiLM
from elmokit.model.vector_source import VectorSource
from elmokit.runs.tensor_files import check_tensors, read_tensors, tensors_under
from elmokit.system.messages import FormatError
from elmokit.tasks.config import ElmoInput
from elmokit.tasks.inputs import TokenInputs
from elmokit.tasks.run_folder import IF_MODEL_MOVED, TaskRecord, named_by
from elmokit.tasks.task import E, P, Task
from elmokit.tasks.task_model import TaskModel
from elmokit.tasks.word_table import WordTable, load_word_table
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from elmokit.vectors.files import recognise


@dataclass(frozen=True)
class ModelParts(Generic[E, P]):
    """What a task's model is made of; `words` and `elmo` are None for a config without them."""

    task: Task[E, P]
    record: TaskRecord
    words: WordTable | None
    elmo: VectorSource | BiLM | None


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


def frozen_layers(elmo: VectorSource | BiLM | None) -> VectorSource | None:
    """The layers that do not change; None without ELMo, and for a biLM that is trained with the task."""
    return None if isinstance(elmo, nn.Module) else elmo


def load_parts(
    run_dir: Path,
    task: Task[E, P],
    record: TaskRecord,
    *,
    has_moved: bool,
    cache: Path | None,
    device: str | torch.device | None,
) -> ModelParts[E, P]:
    """Open what a run's model is made of. Raises ValueError if the biLM is not the one that it was trained with.

    has_moved: whether the record's place of the biLM was given now, and so is not that of config.json.
    """
    with nullcontext() if has_moved else named_by(run_dir, if_moved=IF_MODEL_MOVED):
        elmo = read_elmo(record.config.inputs.elmo, cache=cache, device=device)
    words = load_word_table(run_dir) if record.config.inputs.word_dim else None
    frozen = frozen_layers(elmo)
    if frozen is not None and (found := frozen.fingerprint()) != record.fingerprint:
        raise ValueError(
            f"{run_dir} was trained with the biLM of fingerprint {record.fingerprint}; the one given has {found}, so "
            "its vectors are different; give the biLM of the training"
        )
    return ModelParts(task, record, words, elmo)


def new_model(parts: ModelParts[E, P], *, device: str | torch.device | None) -> TaskModel:
    """A model with fresh weights from the seed, which is set again after the inputs.

    So the rest of the model starts as similarly as it can with ELMo and without.
    """
    config = parts.record.config
    with seeded(config.training.seed):
        inputs = TokenInputs(config.inputs, words=parts.words, elmo=parts.elmo)
    with seeded(config.training.seed):
        model = parts.task.build(config.model, inputs, parts.record.symbols)
    return model.to(find_device(device))


def read_weights(path: Path, parts: ModelParts[E, P], *, prefix: str = "") -> dict[str, Tensor]:
    """Read the weights in a file, compared with the model of these parts, which is built without memory.

    prefix: of the names of the model's tensors in the file; without one, the file has no other tensors.
    Raises FormatError for a model that cannot be built, and as `check_tensors` does.
    """
    weights, config = tensors_under(prefix, read_tensors(path)), parts.record.config
    try:
        with on_meta_device():
            inputs = TokenInputs(config.inputs, words=parts.words, elmo=parts.elmo)
            model = parts.task.build(config.model, inputs, parts.record.symbols)
    except (ValueError, RuntimeError, OverflowError) as error:  # torch has a largest number of numbers
        raise FormatError(path.with_name("config.json"), f"describes no model: {error}") from None
    check_tensors(path, weights, model.state_dict())
    return weights
