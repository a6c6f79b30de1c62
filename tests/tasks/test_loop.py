import json
import math
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from elmokit.runs.tensor_files import DivergenceError
from elmokit.tasks.config import TrainingConfig
from elmokit.tasks.loop import TaskTraining, num_tokens, read_progress, training_batches
from elmokit.tasks.task import Task
from toy_task import changed

Toy = Task[Any, Any]


class Lone(nn.Module):
    """Two weights, whose gradient is what the test says; stands for a task's model, and for its inputs."""

    penalty_factor = 0.0

    def __init__(self, gradient: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.gradient = gradient
        self.inputs = SimpleNamespace(penalty=lambda: self.penalty_factor * self.weight.sum())

    def forward(self, examples: object) -> torch.Tensor:
        return self.gradient * self.weight.sum()

    def predict(self, examples: list[Any]) -> list[float]:
        return [self.weight[0].item()] * len(examples)


def lone_training(
    toy: Toy, tmp_path: Path, scores: list[float], *, gradient: float = 1.0, **settings: Any
) -> TaskTraining:
    """Steps of plain gradient descent; each epoch is one step, and ends with the next of the scores."""
    rest = iter(scores)
    config = TrainingConfig(**({"optimizer": "sgd", "learning_rate": 1.0, "max_epochs": len(scores)} | settings))
    task = changed(toy, score=lambda examples, made: {"accuracy": next(rest)}, sentences=lambda example: [["a"]])
    model: Any = Lone(gradient)
    return TaskTraining(task, config, model, train=[0], dev=[0], run_dir=tmp_path)


def test_training_ends_when_patience_does_but_not_before_the_least_number_of_steps(toy: Toy, tmp_path: Path):
    progress = lone_training(toy, tmp_path, [10, 30, 30, 20, 25, 99], patience=3).run()
    assert (progress.epoch, progress.best_epoch, progress.best_score) == (5, 2, 30)
    best = load_file(tmp_path / "model.safetensors")
    assert best["weight"].tolist() == [-2, -2]  # of the second epoch
    progress = lone_training(toy, tmp_path, [30, 20, 25, 20, 10, 99], patience=2, min_steps=5).run()
    assert (progress.epoch, progress.step, progress.best_epoch) == (5, 5, 1)


def test_a_small_training_set_is_read_as_often_as_an_epoch_needs(toy: Toy, tmp_path: Path):
    training = lone_training(toy, tmp_path, [10, 30], min_epoch_steps=3)
    assert (training.run().step, training.model.get_parameter("weight").tolist()) == (6, [-6, -6])
    many = lone_training(toy, tmp_path, [1], min_epoch_steps=9, batch_size=2)
    many.train = list(range(7))
    epoch = many._batches()
    assert len(epoch) == 12  # three times all of them, each time in another order
    passes = [sorted(example for batch in epoch[start : start + 4] for example in batch) for start in (0, 4, 8)]
    assert passes == [list(range(7))] * 3 and len({str(epoch[start : start + 4]) for start in (0, 4, 8)}) == 3


def test_the_rate_is_halved_while_the_score_gets_no_better(toy: Toy, tmp_path: Path):
    lone_training(toy, tmp_path, [10, 9, 9, 9, 20, 9, 9], patience=9, halve_after=2).run()
    rates = [json.loads(line)["learning_rate"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    progress = read_progress(tmp_path / "checkpoint.safetensors")
    assert rates == [1, 1, 1, 0.5, 0.5, 0.5, 0.5]
    assert progress.rate_factor == 0.25 and progress.epochs_since_halving == 0
    decaying = lone_training(toy, tmp_path, [1, 2, 3, 4, 5], decay=0.5, decay_steps=2)
    drawn: list[float] = []
    decaying.model.register_forward_pre_hook(lambda *_: drawn.append(torch.rand(()).item()))
    decaying.run()
    assert decaying.model.get_parameter("weight").tolist() == [-(1 + 1 + 0.5 + 0.5 + 0.25)] * 2
    assert len(set(drawn)) == 5  # each epoch has random numbers of its own


def test_the_penalty_of_the_inputs_adds_to_the_gradient_which_is_cut_by_norm_or_by_value(toy: Toy, tmp_path: Path):
    training = lone_training(toy, tmp_path, [10])
    lone: Any = training.model
    lone.penalty_factor = 0.5  # its gradient comes on top of the 1 of the model's own loss
    training.run()
    assert lone.weight.tolist() == [-1.5, -1.5]
    for settings, step in (({"clip_norm": 1.0}, 2**-0.5), ({"clip_value": 0.25}, 0.25), ({}, 8.0)):
        training = lone_training(toy, tmp_path, [1], gradient=8.0, **settings)
        training.run()
        torch.testing.assert_close(training.model.get_parameter("weight").detach(), torch.full((2,), -step))


def test_the_moving_average_is_evaluated_and_kept_and_training_goes_on_with_the_weights(toy: Toy, tmp_path: Path):
    training = lone_training(toy, tmp_path, [1, 2], average_decay=0.15)
    seen: list[float] = []
    score = training.task.score
    training.task = changed(training.task, score=lambda *given: seen.extend(given[1]) or score(*given))
    training.run()
    first = 0.1 * 0 + 0.9 * -1  # the decay of the first step is 1 / 10, that of the second 2 / 11, or 0.15 at most
    second = 0.15 * first + 0.85 * -2
    assert seen == pytest.approx([first, second])
    assert load_file(tmp_path / "model.safetensors")["weight"].tolist() == pytest.approx([second] * 2)
    assert training.model.get_parameter("weight").tolist() == [-2, -2]


def test_a_last_step_that_spoils_the_weights_ends_the_run_before_they_are_kept(toy: Toy, tmp_path: Path):
    with pytest.raises(DivergenceError, match="epoch 1, step 0: a weight is not finite"):
        lone_training(toy, tmp_path, [1, 2], gradient=3e38, learning_rate=10.0).run()
    with pytest.raises(DivergenceError, match="epoch 1, step 0: the loss is not finite"):
        lone_training(toy, tmp_path, [1], gradient=math.nan).run()
    with pytest.raises(ValueError, match="accuracy of the development set is nan"):
        lone_training(toy, tmp_path, [math.nan]).run()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "adadelta", "sgd"])
def test_each_optimiser_goes_on_exactly(toy: Toy, tmp_path: Path, optimizer: str):
    settings: dict[str, Any] = {"optimizer": optimizer, "learning_rate": 0.1, "patience": 9}
    whole = lone_training(toy, tmp_path, [1, 2, 3, 4], **settings)
    whole.run()
    (tmp_path / "checkpoint.safetensors").unlink()
    lone_training(toy, tmp_path, [1, 2], **settings).run()
    rest = lone_training(toy, tmp_path, [3, 4], **settings | {"max_epochs": 4})
    rest.load()
    assert rest.progress.epoch == 2
    rest.run()
    assert torch.equal(rest.model.get_parameter("weight"), whole.model.get_parameter("weight"))


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
    assert epoch == training_batches(toy, examples, size=8, seed="0 0")
    assert epoch != training_batches(toy, examples, size=8, seed="0 1")
