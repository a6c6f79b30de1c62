"""Examples in batches of similar length: shuffled to train on, or in any order to predict."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import torch

from elmokit.system.batches import batched
from elmokit.tasks.task import E, P, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elmokit.tasks.task_model import TaskModel

LENGTH_NOISE = 0.1
"""Share of an example's length by which its place among the others moves, so that batches change between epochs."""


def training_batches(task: Task[E, P], examples: Sequence[E], *, size: int, seed: str) -> list[list[E]]:
    """All examples once, those of a batch of similar length, in an order that the seed alone decides."""
    randomness = random.Random(seed)
    keys = [num_tokens(task, example) * randomness.uniform(1 - LENGTH_NOISE, 1 + LENGTH_NOISE) for example in examples]
    order = sorted(range(len(examples)), key=lambda index: (keys[index], randomness.random()))
    result = list(batched((examples[index] for index in order), size=size))
    randomness.shuffle(result)
    return result


def predict_all(task: Task[E, P], model: TaskModel, examples: Sequence[E], *, batch_size: int) -> list[P]:
    """A prediction for each example, in their order; the model is in eval mode meanwhile."""
    was_training = model.training
    model.eval()
    order = sorted(range(len(examples)), key=lambda index: -num_tokens(task, examples[index]))
    predictions: dict[int, P] = {}
    with torch.no_grad():
        for group in batched(order, size=batch_size):
            predicted = model.predict([examples[index] for index in group])
            predictions.update(zip(group, predicted, strict=True))
    model.train(was_training)
    return [predictions[index] for index in range(len(examples))]


def num_tokens(task: Task[E, P], example: E) -> int:
    return sum(map(len, task.sentences(example)))
