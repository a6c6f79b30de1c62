"""Targets: folders of runs, of pretraining and of tasks, which are resumed, opened to predict, and reported on."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

from attacks.targets import Target, new_folder, target
from elmokit.pretraining.train import Run, resume_pretraining
from elmokit.report.report import write_report
from elmokit.tasks.config import ElmoInput, InputConfig, Splits, TaskConfig, TrainingConfig
from elmokit.tasks.loop import TaskTraining
from elmokit.tasks.named_entities.task import TASK
from elmokit.tasks.predict import load_task
from elmokit.tasks.train import resume_task, train
from toy_run import pretrain_toy

PRETRAINING = (
    *("num_steps=2", "checkpoint_every=1", "keep_checkpoints=2", "evaluate_every=1", "log_every=1", "batch_size=2"),
    *("filters=[[1,4],[3,8]]", "character_dim=4", "projection_dim=6", "lstm_dim=16", "bptt_steps=3", "optimizer=adam"),
)


def run_targets(folder: Path, given: Path) -> Iterator[Target]:
    """Finished runs; what they have read, and do not hold, is in `given` and stays whole."""
    folder.mkdir()
    made = target("run of pretraining: resume", folder, pretrain_tiny, _resume_pretraining, _report)
    yield made
    yield replace(made, name="run of pretraining: report", use=_report)
    for name, elmo in (("", None), (" with ELMo", ElmoInput(model=str(given / "bilm"), position="both"))):
        make = partial(train_tagger, given, elmo)
        made = target(f"run of a task{name}: predict", folder, make, _predict, _resume_task)
        yield made
        yield replace(made, name=f"run of a task{name}: resume", use=_resume_task)
    yield target("runs of a task: report", folder, partial(_train_both, given), _report)


def pretrain_tiny(folder: Path) -> None:
    """Pretrain a tiny biLM for two steps into a new folder; its text is next to it."""
    pretrain_toy(folder, *PRETRAINING, held_out=[folder.with_name("shard.txt")], device="cpu")


def train_tagger(given: Path, elmo: ElmoInput | None, folder: Path) -> None:
    """Train a tiny tagger of names into a new folder; its data goes into `given`."""
    config = TaskConfig(
        TASK.model_config(first_dim=4, second_dim=3),
        InputConfig(word_dim=5, character_dim=3, character_filters=((2, 4),), elmo=elmo),
        TrainingConfig(max_epochs=2, average_decay=0.9),
    )
    data = given / "data.txt"
    data.write_text("Jane B-PER\nlives O\nin O\nSeoul B-LOC\n\nThe O\nbank O\nof O\nKorea B-LOC\n")
    train(TASK, Splits((data,), (data,)), run_dir=folder, config=config, device="cpu")


def _train_both(given: Path, folder: Path) -> None:
    for name, elmo in (("without", None), ("with", ElmoInput(model=str(given / "bilm")))):
        train_tagger(given, elmo, folder / name)


def _resume_pretraining(folder: Path) -> None:
    """Up to the first step, which a config may make as large as it likes."""
    with patch.object(Run, "train", lambda self, on_step=None: None):
        resume_pretraining(folder, device="cpu")


def _resume_task(folder: Path) -> None:
    with patch.object(TaskTraining, "run", lambda self: self.progress):
        resume_task(folder, device="cpu")


def _predict(folder: Path) -> None:
    assert len(load_task(folder, device="cpu").predict("Jane lives in Seoul").tags) == 4


def _report(folder: Path) -> None:
    with new_folder() as output:
        write_report([folder], output)
