"""Batches of examples of similar length: shuffled for training, in order of length for prediction."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import torch

from elmokit.system.batches import batched
from elmokit.tasks.task import E, P, Task
from elmokit.tasks.task_model import TaskModel

LENGTH_NOISE = 0.1
"""Largest share of its length by which an example's sort key is varied, so that batches change between epochs."""


def training_batches(task: Task[E, P], examples: Sequence[E], *, size: int, seed: str) -> list[list[E]]:
    """All examples once, in batches of similar length, in an order that depends only on the seed."""
    randomness = random.Random(seed)
    keys = [num_tokens(task, example) * randomness.uniform(1 - LENGTH_NOISE, 1 + LENGTH_NOISE) for example in examples]
    order = sorted(range(len(examples)), key=lambda index: (keys[index], randomness.random()))
    batches = list(batched((examples[index] for index in order), size=size))
    randomness.shuffle(batches)
    return batches


def predict_all(
    task: Task[E, P],
    model: TaskModel,
    examples: Sequence[E],
    *,
    batch_size: int,
    when_done: Callable[[int], object] | None = None,
) -> list[P]:
    """One prediction per example, in the order of the examples; the model is in eval mode meanwhile.

    when_done: called with the number of examples of each batch.
    """
    was_training = model.training
    model.eval()
    order = sorted(range(len(examples)), key=lambda index: -num_tokens(task, examples[index]))
    predictions: dict[int, P] = {}
    try:
        with torch.no_grad():
            for group in batched(order, size=batch_size):
                predicted = model.predict([examples[index] for index in group])
                predictions.update(zip(group, predicted, strict=True))
                if when_done is not None:
                    when_done(len(group))
    finally:
        model.train(was_training)
    return [predictions[index] for index in range(len(examples))]


def num_tokens(task: Task[E, P], example: E) -> int:
    """Number of tokens in all sentences of an example."""
    return sum(map(len, task.sentences(example)))
