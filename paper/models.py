"""BiLMs that experiments need, random weights as a control and one epoch of fine-tuning on a task's text (table 7); and
perplexities of biLMs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from elmokit.elmo.elmo import Elmo
from elmokit.files.atomic import write_text
from elmokit.files.lines import read_lines, split_tokens
from elmokit.formats.find import FINGERPRINT_DIGITS, resolve_model
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.devices import describe_machine, find_device, seeded
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.pretraining.finetune import finetune
from elmokit.pretraining.recipes import finetuning
from elmokit.pretraining.train import resume_pretraining
from elmokit.runs.folder import CONFIG_NAME
from elmokit.runs.log import provenance
from elmokit.runs.results_table import Result
from elmokit.tasks.data import read_files
from elmokit.tasks.task import find_task, task_recipe
from paper.experiments import FINETUNED, RANDOM
from paper.results import Results, cluster_steps

HELD_OUT = "en/heldout.txt.xz"
MODELS_FOLDER = "models"
"""Of biLMs that are made, in the folder of the runs."""
RANDOM_SEED = 0
TEXTS = {
    ("entailment", ""): "SNLI",
    ("semantic-roles", ""): "CoNLL 2012 (coref/SRL)",
    ("named-entities", ""): "CoNLL 2003 (NER)",
    ("question-answering", "contexts"): "SQuAD, contexts",
    ("question-answering", "questions"): "SQuAD, questions",
    ("sentiment", ""): "SST",
}
"""The paper's rows of table 7 by task and part of its text; our semantic roles are the English Web Treebank's."""
_PARTS = {"question-answering": ("contexts", "questions")}
"""The names of an example's sentences, in their order, where the paper measures them apart."""


@dataclass(frozen=True)
class MadeModel:
    """A biLM that is made before the runs that use it, or vectors that take its place."""

    kind: str
    """`Arm.vectors`."""
    start: str
    """The model whose sizes it has, or whose weights it starts from."""
    start_fingerprint: str
    task: str
    data: Path
    """The folder of the data set whose text it is fine-tuned on."""

    @property
    def is_made_here(self) -> bool:
        """Whether it can be made from the model and the data."""
        return self.kind in (RANDOM, FINETUNED)

    @property
    def name(self) -> str:
        """Name of its folder."""
        parts = {RANDOM: (self.kind, self.start_fingerprint), FINETUNED: (self.kind, self.start_fingerprint, self.task)}
        return "-".join(parts.get(self.kind, (self.kind,)))


def make_model(planned: MadeModel, folder: Path) -> Path:
    """The folder of a planned model; it is made there unless it is there already."""
    found = folder / planned.name
    start = resolve_model(planned.start)
    if planned.kind == FINETUNED:
        _finetune(planned, start, found)
    elif not (found / CONFIG_NAME).is_file():
        write_native(found, to_weights(random_elmo(Elmo.from_pretrained(start).config).bilm))
    return found


def random_elmo(config: BiLMConfig) -> Elmo:
    """A biLM with the weights that pretraining starts from, the same ones in every process."""
    with seeded(RANDOM_SEED):
        return Elmo(BiLM(config).requires_grad_(False))


def measure_held_out(data_dir: Path, models: Sequence[str], results: Results) -> None:
    """Add the perplexities of biLMs on held-out text."""
    sentences = [split_tokens(line) for line in read_lines(data_dir / HELD_OUT)]
    for name in models:
        _add_perplexity(results, resolve_model(name), sentences, Result(0.0, "", "perplexity", model=name))


def measure_finetuned(planned: MadeModel, results: Results, *, folder: Path) -> None:
    """Add the perplexities of the development text of a task, before and after fine-tuning, with those of sentences."""
    for number, part in enumerate(_PARTS.get(planned.task, ("",))):
        sentences = _sentences(planned, "dev", slice(number, number + 1) if part else slice(None))
        row = Result(0.0, "", "table7", data=TEXTS[planned.task, part], model=planned.start, split="dev")
        for arm, model in (("before", resolve_model(planned.start)), ("after", make_model(planned, folder))):
            run = f"{planned.name}, {part or 'text'}, {arm}"
            _add_perplexity(results, model, sentences, replace(row, arm=arm, run=run))


def _add_perplexity(results: Results, model: Path, sentences: Sequence[Sequence[str]], row: Result) -> None:
    elmo, where = Elmo.from_pretrained(model), provenance()
    read = elmo.surprisal_model().read(sentences)
    bits = np.array([[one.log2_probability(way) for way in ("forward", "backward")] for one in read])
    counts = np.column_stack([-bits, [len(sentence) + 1 for sentence in sentences]])
    forward, backward = np.exp2(counts[:, :2].sum(axis=0) / counts[:, 2].sum()).tolist()
    common = replace(
        row,
        metric="perplexity",
        fingerprint=elmo.fingerprint()[:FINGERPRINT_DIGITS],
        corpus_size=int(counts[:, 2].sum()),
        commit=where["commit"],
        machine=describe_machine(find_device(None)),
    )
    values = {"mean": (forward + backward) / 2, "forward": forward, "backward": backward}
    rows = [replace(common, layer=way, value=value) for way, value in values.items()]
    arrays = {f"counts/{row.run}@{common.commit}/{row.split}": counts.astype(np.float32)} if row.run else {}
    steps = {f"clusters/{row.data}/{row.split}": cluster_steps(range(len(counts)))} if row.run else {}
    results.add(rows, arrays | steps)


def _finetune(planned: MadeModel, start: Path, run_dir: Path) -> None:
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


def _sentences(planned: MadeModel, split: str, chosen: slice = slice(None)) -> list[tuple[str, ...]]:
    """The distinct sentences of a split of the model's data set; `chosen` are those of each example."""
    task = find_task(planned.task)
    files, config = getattr(task.find(planned.data), split), task_recipe(planned.task).model
    examples = read_files(task, files, config, name=split, training=split == "train").examples
    sentences = (tuple(sentence) for example in examples for sentence in task.sentences(example)[chosen])
    return list(dict.fromkeys(sentence for sentence in sentences if sentence))


def _write(path: Path, sentences: Iterable[Sequence[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, "".join(" ".join(sentence) + "\n" for sentence in sentences))
