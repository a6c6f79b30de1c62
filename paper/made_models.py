"""BiLMs that tables make: random weights as a control, and one epoch of fine-tuning on a task's text (table 7)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.elmo import Elmo
from elmokit.formats.names import resolve_model
from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.pretraining.finetune import finetune
from elmokit.pretraining.recipes import finetuning
from elmokit.pretraining.train import resume_pretraining
from elmokit.runs.folder import CONFIG_NAME
from elmokit.scoring.perplexity import perplexity
from elmokit.tasks.all_tasks import task_recipe
from paper.random_elmo import random_elmo
from paper.results import append_result, read_results
from paper.table7 import NAME
from paper.task_texts import write_task_texts

if TYPE_CHECKING:
    from elmokit.scoring.perplexity import Perplexity
    from paper.planned_runs import PlannedModel
    from paper.task_texts import TaskTexts

RANDOM_SEED = 0


def make_model(planned: PlannedModel, folder: Path) -> Path:
    """The folder of a planned model; it is made there unless it is there already.

    The perplexities of a fine-tuned model, and of the model that it started from, are added to the results of the
    folder's parent, where the runs are.
    """
    found = folder / planned.name
    if planned.kind == "random":
        if not (found / CONFIG_NAME).is_file():
            _write_random(planned.start, found)
        return found
    _finetune(planned, found)
    _measure(planned, found, results=folder.parent)
    return found


def _texts_of(planned: PlannedModel, folder: Path) -> TaskTexts:
    """The text that a planned model is fine-tuned on, and that of the development set."""
    assert planned.data is not None, "a fine-tuned model has a data set"
    return write_task_texts(
        planned.task, planned.data, task_recipe(planned.task), folder / f"text-{planned.task}-{planned.data.name}"
    )


def _write_random(model: str, folder: Path) -> None:
    elmo = random_elmo(Elmo.from_pretrained(model).config, seed=RANDOM_SEED)
    write_native(folder, to_stored(elmo.bilm))


def _finetune(planned: PlannedModel, run_dir: Path) -> None:
    """One epoch with the settings of `elmokit finetune`; an interrupted one is continued, a finished one stays."""
    if (run_dir / CONFIG_NAME).is_file():
        resume_pretraining(run_dir)
        return
    texts = _texts_of(planned, run_dir.parent)
    config = finetuning(Elmo.from_pretrained(planned.start).config)
    num_steps = math.ceil(texts.num_predictions / config.tokens_per_step)
    settings = ["evaluate_every=0", f"num_steps={num_steps}", f"decay_steps={num_steps}"]
    finetune(planned.start, [texts.train], run_dir=run_dir, settings=settings)


def _measure(planned: PlannedModel, tuned: Path, *, results: Path) -> None:
    """Perplexity of each part of the development text before and after, unless it is among the results."""
    assert planned.data is not None, "a fine-tuned model has a data set"
    known = {(fields.text("tuned"), fields.text("part")) for fields in read_results([results], NAME)}
    start = str(resolve_model(planned.start))
    for part, text in _texts_of(planned, tuned.parent).dev.items():
        if (planned.name, part) in known:
            continue
        before, after = (perplexity(model, [text]) for model in (start, str(tuned)))
        values = {
            "task": planned.task,
            "data": planned.data.resolve().name,
            "part": part,
            "model": Path(planned.start).name,
            "fingerprint": planned.start_fingerprint,
            "tuned": planned.name,
            "num_predictions": before.num_predictions,
            "before": _numbers(before),
            "after": _numbers(after),
        }
        append_result(results, NAME, values)


def _numbers(measured: Perplexity) -> dict[str, float]:
    assert measured.backward is not None, "a biLM has two directions"
    return {
        "forward": measured.forward.perplexity,
        "backward": measured.backward.perplexity,
        "mean": measured.mean,
    }
