from __future__ import annotations

from elmokit.tasks.config import TrainingConfig
from elmokit.tasks.progress import Clock, TaskProgress


def test_progress_counts_from_the_last_best_epoch():
    config = TrainingConfig(patience=2, max_epochs=10)
    progress = TaskProgress()
    for score in (1.0, 2.0, 2.0):
        progress = progress.after(score, config=config, step=1, began=Clock.now())
        assert not progress.finished(config)
    assert progress.after(1.0, config=config, step=1, began=Clock.now()).finished(config)
