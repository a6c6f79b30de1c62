"""BiLMs that tables make: random weights as a control, and one epoch of fine-tuning on a task's text (table 7)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.elmo.elmo import Elmo
from elmokit.files.atomic import atomic_write
from elmokit.formats.names import resolve_model
from elmokit.formats.native import write_native
from elmokit.formats.read import to_stored
from elmokit.layers.random_numbers import seeded
from elmokit.model.bilm import BiLM
from elmokit.pretraining.finetune import finetune
from elmokit.pretraining.recipes import finetuning
from elmokit.pretraining.train import resume_pretraining
from elmokit.runs.folder import CONFIG_NAME
from elmokit.scoring.perplexity import perplexity
from elmokit.tasks.all_tasks import find_task, task_recipe
from elmokit.tasks.reading import read_files
from paper.plan import RANDOM
from paper.results import append_result, read_results

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from elmokit.model.config import BiLMConfig
    from elmokit.scoring.perplexity import Perplexity
    from elmokit.tasks.config import TaskConfig
    from elmokit.tasks.task import Task
    from paper.plan import PlannedModel

RESULTS = "table7"
RANDOM_SEED = 0
_PARTS = {"question-answering": ("contexts", "questions")}
"""The names of an example's sentences, in their order, where the paper measures them apart."""


@dataclass(frozen=True)
class TaskTexts:
    """Files with the distinct sentences of a data set."""

    train: Path
    dev: Mapping[str, Path]
    """By the name of the part: contexts and questions of question answering, and an empty name otherwise."""
    num_predictions: int
    """Tokens of the training text, and one end for each sentence."""


def make_model(planned: PlannedModel, folder: Path) -> Path:
    """The folder of a planned model; it is made there unless it is there already.

    The perplexities of a fine-tuned model, and of the model that it started from, are added to the results of the
    folder's parent, where the runs are.
    """
    found = folder / planned.name
    if planned.kind == RANDOM:
        if not (found / CONFIG_NAME).is_file():
            _write_random(planned.start, found)
        return found
    _finetune(planned, found)
    _measure(planned, found, results=folder.parent)
    return found


def _texts_of(planned: PlannedModel, folder: Path) -> TaskTexts:
    """The text that a planned model is fine-tuned on, and that of the development set."""
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
    known = {(fields.text("tuned"), fields.text("part")) for fields in read_results([results], RESULTS)}
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
        append_result(results, RESULTS, values)


def _numbers(measured: Perplexity) -> dict[str, float]:
    assert measured.backward is not None, "a biLM has two directions"
    return {
        "forward": measured.forward.perplexity,
        "backward": measured.backward.perplexity,
        "mean": measured.mean,
    }


def random_elmo(config: BiLMConfig, *, seed: int) -> Elmo:
    """A biLM with the weights that pretraining starts from; they depend on the seed alone."""
    with seeded(seed):
        return Elmo(BiLM(config).requires_grad_(False))


def write_task_texts(name: str, data: Path, config: TaskConfig, folder: Path) -> TaskTexts:
    """Write the training and the development text of a task. Raises ValueError and OSError for unreadable data."""
    task = find_task(name)
    splits = task.find(data)
    folder.mkdir(parents=True, exist_ok=True)
    train = _examples(task, splits.train, config, split="train")
    dev = _examples(task, splits.dev, config, split="dev")
    sentences = _distinct(sentence for example in train for sentence in task.sentences(example))
    parts = {part: folder / f"dev-{part or 'text'}.txt" for part in _PARTS.get(name, ("",))}
    for number, (part, path) in enumerate(parts.items()):
        chosen = slice(number, number + 1) if part else slice(None)
        _write(path, _distinct(sentence for example in dev for sentence in task.sentences(example)[chosen]))
    _write(folder / "train.txt", sentences)
    return TaskTexts(folder / "train.txt", parts, sum(len(sentence) + 1 for sentence in sentences))


def _examples(task: Task[Any, Any], files: Sequence[Path], config: TaskConfig, *, split: str) -> list[Any]:
    return read_files(task, files, config.model, name=split, training=split == "train").examples


def _distinct(sentences: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(dict.fromkeys(tuple(sentence) for sentence in sentences if sentence))


def _write(path: Path, sentences: Iterable[Sequence[str]]) -> None:
    with atomic_write(path) as unfinished:
        unfinished.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
