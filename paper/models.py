"""BiLMs that tables make: random weights as a control, one epoch of fine-tuning on a task's text (table 7), and earlier
weights of a bundled model, out of this repository's history.
"""

from __future__ import annotations

import io
import math
import subprocess
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from elmokit.elmo.elmo import Elmo
from elmokit.files.atomic import new_folder, write_text
from elmokit.formats.names import resolve_model
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.devices import seeded
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.pretraining.finetune import finetune
from elmokit.pretraining.recipes import finetuning
from elmokit.pretraining.train import resume_pretraining
from elmokit.runs.folder import CONFIG_NAME
from elmokit.scoring.perplexity import Perplexity, perplexity
from elmokit.tasks.all_tasks import find_task, task_recipe
from elmokit.tasks.reading import read_files
from paper.plan import EARLIER, RANDOM, PlannedModel
from paper.results import append_result, read_results

RESULTS = "table7"
CURVE_RESULTS, HELD_OUT = "perplexity", "en/heldout.txt.xz"
MODELS_FOLDER = "models"
"""Of biLMs that are made, in the folder of the runs."""
RANDOM_SEED = 0
_PARTS = {"question-answering": ("contexts", "questions")}
"""The names of an example's sentences, in their order, where the paper measures them apart."""


def make_model(planned: PlannedModel, folder: Path) -> Path:
    """The folder of a planned model; it is made there unless it is there already.

    The perplexities of a fine-tuned model, and of the model that it started from, are added to the results of the
    folder's parent, where the runs are; so are those of earlier weights and of today's, on held-out text.
    """
    found, start = folder / planned.name, weights_of(planned.start, folder)
    if planned.kind in EARLIER:
        found = weights_of(planned.kind, folder)
        _measure_held_out(planned, {planned.name: found, Path(planned.start).name: start}, results=folder.parent)
        return found
    if planned.kind == RANDOM:
        if not (found / CONFIG_NAME).is_file():
            elmo = random_elmo(Elmo.from_pretrained(start).config)
            write_native(found, to_weights(elmo.bilm))
        return found
    _finetune(planned, start, found)
    _measure(planned, start, found, results=folder.parent)
    return found


def weights_of(name: str, folder: Path) -> Path:
    """The folder of a biLM: one of EARLIER comes out of the repository's history, into a folder of its name.

    Raises ValueError for one of these outside of a clone with its history, and what `resolve_model` raises for others.
    """
    if name not in EARLIER:
        return resolve_model(name)
    found, (commit, _) = folder / name, EARLIER[name]
    if not (found / CONFIG_NAME).is_file():
        bundled = "-".join(name.split("-")[:2])  # mini-en, of mini-en-138
        command = ["git", "archive", f"{commit}:src/elmokit/bundled/{bundled}"]
        try:
            archive = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ValueError(
                f"{name} is in commit {commit} of elmokit's repository, which git cannot read here ({error}); install "
                "git, and run this in a full clone, such as after `git fetch --unshallow`"
            ) from error
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files, new_folder(found) as unfinished:
            files.extractall(unfinished, filter="data")
    return found


def _measure_held_out(planned: PlannedModel, models: Mapping[str, Path], *, results: Path) -> None:
    known = {fields.text("fingerprint") for fields in read_results([results], CURVE_RESULTS)}
    for name, model in models.items():
        if (fingerprint := Elmo.from_pretrained(model).fingerprint()) not in known:
            measured = _numbers(perplexity(model, [planned.data / HELD_OUT]))
            append_result(results, CURVE_RESULTS, {"model": name, "fingerprint": fingerprint, **measured})


def _finetune(planned: PlannedModel, start: Path, run_dir: Path) -> None:
    """One epoch with the settings of `elmokit finetune`; an interrupted one is continued, a finished one stays."""
    if (run_dir / CONFIG_NAME).is_file():
        resume_pretraining(run_dir)
        return
    text = run_dir.parent / f"text-{planned.task}-{planned.data.name}" / "train.txt"
    sentences = _sentences(planned, "train")
    _write(text, sentences)
    config = finetuning(Elmo.from_pretrained(start).config)
    num_predictions = sum(len(sentence) + 1 for sentence in sentences)  # the tokens, and the end of each sentence
    num_steps = math.ceil(num_predictions / config.tokens_per_step)
    settings = ["evaluate_every=0", f"num_steps={num_steps}", f"decay_steps={num_steps}"]
    finetune(start, [text], run_dir=run_dir, settings=settings)


def _measure(planned: PlannedModel, start: Path, tuned: Path, *, results: Path) -> None:
    """Perplexity of each part of the development text before and after, unless it is among the results."""
    known = {(fields.text("tuned"), fields.text("part")) for fields in read_results([results], RESULTS)}
    for number, part in enumerate(_PARTS.get(planned.task, ("",))):
        if (planned.name, part) in known:
            continue
        text = tuned.parent / f"text-{planned.task}-{planned.data.name}" / f"dev-{part or 'text'}.txt"
        _write(text, _sentences(planned, "dev", slice(number, number + 1) if part else slice(None)))
        before, after = (perplexity(model, [text]) for model in (start, tuned))
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
    forward, backward = measured.forward.perplexity, measured.backward.perplexity
    return {"forward": forward, "backward": backward, "mean": measured.mean}


def random_elmo(config: BiLMConfig) -> Elmo:
    """A biLM with the weights that pretraining starts from, the same ones in every process."""
    with seeded(RANDOM_SEED):
        return Elmo(BiLM(config).requires_grad_(False))


def _sentences(planned: PlannedModel, split: str, chosen: slice = slice(None)) -> list[tuple[str, ...]]:
    """The distinct sentences of a split of the model's data set; `chosen` are those of each example."""
    task = find_task(planned.task)
    files, config = getattr(task.find(planned.data), split), task_recipe(planned.task).model
    examples = read_files(task, files, config, name=split, training=split == "train").examples
    sentences = (tuple(sentence) for example in examples for sentence in task.sentences(example)[chosen])
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))


def _write(path: Path, sentences: Iterable[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(" ".join(sentence) + "\n" for sentence in sentences))
