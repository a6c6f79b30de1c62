from __future__ import annotations

from dataclasses import replace

import pytest

from elmokit.tasks.all_tasks import TASKS, find_task, task_recipe
from elmokit.tasks.config import TrainingConfig
from elmokit.tasks.convergence import until_converged
from elmokit.tasks.progress import TaskProgress


def test_the_schedule_gives_way_to_patience_and_the_rest_stays():
    training = until_converged(TrainingConfig(learning_rate=0.5, decay=0.9, batch_size=7, max_epochs=3))
    assert (training.learning_rate, training.batch_size, training.decay) == (0.5, 7, 1.0)
    after = TaskProgress(epoch=9, best_epoch=4, step=999)
    assert not after.finished(training)
    assert replace(after, step=1000).converged(training)


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_recipe_that_differs_from_cpu_in_its_training_alone(task: str):
    cpu, converged = task_recipe(task, "cpu"), task_recipe(task, "cpu-converged")
    assert "cpu-converged" in find_task(task).recipes
    assert replace(converged, training=cpu.training) == cpu != converged
    assert until_converged(converged.training) == converged.training
