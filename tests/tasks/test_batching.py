from __future__ import annotations

import random
from typing import Any

import torch
from torch import nn

from elmokit.tasks.batching import num_tokens, predict_all, training_batches
from elmokit.tasks.task import Task

Toy = Task[Any, Any]


def test_an_epoch_has_every_example_once_in_batches_of_similar_length(toy: Toy):
    randomness = random.Random(1)
    examples = [toy.from_json({"tokens": ["a"] * randomness.randint(1, 60)}) for _ in range(203)]
    epoch = training_batches(toy, examples, size=8, seed="0 0")
    assert sorted(map(id, (example for batch in epoch for example in batch))) == sorted(map(id, examples))
    assert sorted(map(len, epoch)) == [3, *[8] * 25]
    spread = [max(lengths) - min(lengths) for lengths in ([num_tokens(toy, each) for each in batch] for batch in epoch)]
    assert sum(spread) / len(spread) < 15
    starts = [num_tokens(toy, batch[0]) for batch in epoch]
    assert starts != sorted(starts) and starts != sorted(starts, reverse=True)
    assert (
        epoch
        == training_batches(toy, examples, size=8, seed="0 0")
        != training_batches(toy, examples, size=8, seed="0 1")
    )


def test_predictions_come_in_the_order_of_the_examples_and_training_goes_on(toy: Toy):
    class Echo(nn.Module):
        def predict(self, examples: list[Any]) -> list[int]:
            assert not self.training and not torch.is_grad_enabled() and len(examples) <= 3
            return [len(example.tokens) for example in examples]

    model: Any = Echo()
    examples = [toy.from_json({"tokens": ["a"] * length}) for length in (3, 1, 4, 1, 5, 9, 2, 6)]
    assert predict_all(toy, model, examples, batch_size=3) == [3, 1, 4, 1, 5, 9, 2, 6]
    assert model.training
    assert predict_all(toy, model, [], batch_size=3) == []
