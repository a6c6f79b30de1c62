"""The plan: data sets, scales and arms, declared as data. From them follow the training runs of all tables.

The name of a run says its data set, its scale, and what its arm changes in the recipe. So tables that need the same run
share it, and a table finds its runs by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from elmokit.tasks.all_tasks import find_task, task_recipe
from elmokit.tasks.config import TaskConfig
from paper.data_folders import unpacked

CONVERGED = "cpu-converged"
"""The recipe of runs that end when the development score stops improving."""
AT_OUTPUT = "cpu-output"
"""The same with ELMo at the output alone, of tasks where that is better on the development set than the paper's place.
Without ELMo it is `CONVERGED`."""
RANDOM, FINETUNED = "random", "finetuned"
MODEL = "mini-en"
"""The biLM of the English tables of runs: the package's English model before `small-en`."""
EARLIER = {
    "mini-en-138": ("03c5632", "276f453c"),
    "mini-en-115": ("f6335e0", "f10ea4d3"),
    MODEL: ("be0b828", "c3b1f14d"),
    "small-en-86": ("dc58655", "d864464f"),
}
"""Weights that the package had, most named for their perplexity on held-out text -> the commit of this repository that
has them, and their fingerprint: experiments/2026-11-20-mini-en, 2026-11-22-mini-en and -4, 2026-11-26-h100."""


@dataclass(frozen=True)
class Dataset:
    """The data set of a task."""

    task: str
    row: str
    """The paper's name of the task: NER."""
    folder: str
    """Its folder in the folder of all data."""
    test_set: str
    """Name of its test file."""
    about: str = ""
    """How the data differ from the paper's."""
    recipe: str = ""
    """Its recipe at the scale `cpu`, the only one that it has runs of; empty for the recipe that any scale names."""
    settings: tuple[str, ...] = ()
    """Changes to the recipe in all runs."""


DATASETS = {
    "named-entities": Dataset(
        *("named-entities", "NER", "tasks/conll2003", "eng.testb"),
        about="CoNLL-2003, as in the paper. The paper's word vectors are Senna's.",
    ),
    "sentiment": Dataset(
        *("sentiment", "SST-5", "tasks/sst", "test.txt"),
        about="The Stanford Sentiment Treebank, as in the paper, which trains on its phrases too.",
    ),
    "semantic-roles": Dataset(
        *("semantic-roles", "SRL", "tasks/srl_ewt_propbank", "test.verbs.gold_conll"),
        about="PropBank on the English Web Treebank, verbs without auxiliaries, in place of OntoNotes, which is not "
        "free. Text and roles differ, so the scores are not those of CoNLL-2012.",
    ),
    "entailment": Dataset(
        *("entailment", "SNLI", "tasks/snli", "snli_1.0_test.jsonl"),
        about="SNLI, with its own development and test set. The whole training set has 549,367 pairs.",
    ),
    "coreference": Dataset(
        *("coreference", "Coref", "tasks/coref_ontogum", "test.gold_conll"),
        about="OntoGUM, which annotates GUM as OntoNotes is annotated, in place of OntoNotes itself, which is not "
        "free. The documents are others and fewer, so the scores are not those of CoNLL-2012.",
    ),
    "question-answering": Dataset(
        *("question-answering", "SQuAD", "tasks/squad_v1.1", "dev-v1.1.json"),
        about="SQuAD 1.1. Its test set is not public: the paper's numbers are of the test set, ours of the public "
        "development set, and articles of the training file are set apart to develop on. The whole training set has "
        "87,599 questions. experiments/2026-11-22-reproduce/squad_articles.jsonl has the gain on each article of the "
        "test set, and how much of it the biLM has read.",
    ),
    "named-entities-ko": Dataset("named-entities", "KLUE-NER", "ko/tasks/ner_klue", "test.conll", recipe="cpu-ko"),
    "sentiment-ko": Dataset(
        *("sentiment", "NSMC", "ko/tasks/nsmc", "test.tsv"),
        recipe="cpu-ko",
        settings=("max_train_examples=0", "max_dev_examples=0", "max_epochs=4", "patience=1"),
    ),
}
"""The data sets by the name that their runs have."""
SIX_TASKS = tuple(name for name, dataset in DATASETS.items() if not dataset.recipe)


@dataclass(frozen=True)
class Scale:
    """One size of the experiments."""

    name: str
    """The name of every task's recipe, too."""
    seeds: int
    """Number of seeds."""
    word_vectors: Mapping[str, str]
    """File of word vectors in the folder of all data, by data set; others have none."""


SCALES = {
    "cpu": Scale("cpu", 3, dict.fromkeys(SIX_TASKS, "tasks/glove/glove.6B.50d.100k.txt.gz")),
    "paper": Scale(
        "paper",
        5,  # section 4 of the paper, for the small data sets
        dict.fromkeys(SIX_TASKS, "tasks/glove/glove.840B.300d.txt.gz")
        | {"named-entities": "tasks/glove/glove.6B.50d.txt.gz", "semantic-roles": "tasks/glove/glove.6B.100d.txt.gz"},
    ),
}
"""A run of `cpu` takes minutes of a core; `paper` needs a GPU and GloVe's larger files."""


@dataclass(frozen=True)
class Arm:
    """Runs of a table that differ in their seed alone."""

    name: str
    """Heading of its column."""
    settings: tuple[str, ...] = ()
    """Changes to the recipe, as `elmokit train --set` takes them."""
    recipe: str = ""
    """Another recipe than the scale's: only the scale `cpu` has such runs, of tasks that have the recipe."""
    vectors: str = ""
    """What stands in the model's place: RANDOM (new weights of the same sizes), FINETUNED (one epoch on the text of the
    task), one of EARLIER, or the name of a file with another system's vectors."""


NO_ELMO = Arm("no ELMo", ("elmo=none",))
ELMO = Arm("+ ELMo")


@dataclass(frozen=True)
class PlannedModel:
    """A biLM that is made before the runs that use it, or vectors that take its place."""

    kind: str
    """`Arm.vectors`."""
    start: str
    """The model whose sizes it has, or whose weights it starts from."""
    start_fingerprint: str
    task: str
    data: Path
    """The folder of the data set whose text it is fine-tuned on; of EARLIER, of all data."""

    @property
    def is_made_here(self) -> bool:
        """Whether it can be made from the model, the data and this repository."""
        return self.kind in (RANDOM, FINETUNED, *EARLIER)

    @property
    def name(self) -> str:
        """Name of its folder."""
        parts = {RANDOM: (self.kind, self.start_fingerprint), FINETUNED: (self.kind, self.start_fingerprint, self.task)}
        return "-".join(parts.get(self.kind, (self.kind,)))


@dataclass(frozen=True)
class PlannedRun:
    """A run of `elmokit train`."""

    name: str
    """Name of its folder."""
    task: str
    data: Path
    """Folder of the data set."""
    config: TaskConfig
    model: PlannedModel | None
    """The biLM, if it has to be made; it takes the place of the config's."""
    fingerprint: str
    """First digits of the fingerprint of the config's biLM; empty if it has none, or another one takes its place."""
    scores_tests: bool
    """Whether the test files are scored."""


@dataclass(frozen=True)
class Setup:
    """What all runs of a plan share."""

    scale: Scale
    data_dir: Path
    """Folder of all data."""
    model: str
    """The biLM: name of a bundled model, or a path."""
    fingerprint: str
    """The first digits of its fingerprint."""
    seeds: tuple[int, ...]

    def data(self, dataset: str) -> Path:
        """The folder of a data set."""
        return unpacked(self.data_dir / DATASETS[dataset].folder)

    def runs(self, dataset: str, arm: Arm, *, tests: bool = False) -> list[PlannedRun]:
        """A run for each seed; none if the scale has no such runs. tests: whether test files are scored."""
        found = DATASETS[dataset]
        recipe = arm.recipe or found.recipe
        if recipe and (self.scale.name != "cpu" or recipe not in find_task(found.task).recipes):
            return []
        config, base = self._config(dataset, arm), self._config(dataset, Arm("", recipe=arm.recipe))
        model = None
        if arm.vectors:
            of_task = (found.task, self.data(dataset)) if arm.vectors not in EARLIER else ("", self.data_dir)
            model = PlannedModel(arm.vectors, self.model, self.fingerprint, *of_task)
        own_model = config.inputs.elmo is not None and model is None
        recipes = (arm.recipe,) if arm.recipe else ()
        words = (dataset, self.scale.name, *recipes, *self._words(config, base, model))
        return [
            PlannedRun(
                name="-".join(map(str, (*words, seed))),
                task=found.task,
                data=self.data(dataset),
                config=replace(config, training=replace(config.training, seed=seed)),
                model=model,
                fingerprint=self.fingerprint if own_model else "",
                scores_tests=tests,
            )
            for seed in self.seeds
        ]

    def _config(self, dataset: str, arm: Arm) -> TaskConfig:
        found = DATASETS[dataset]
        settings = [f"elmo.model={self.model}", *found.settings]
        if dataset in self.scale.word_vectors:
            vectors = self.data_dir / self.scale.word_vectors[dataset]
            settings.append(f"word_vectors={unpacked(vectors.parent) / vectors.name}")
        return task_recipe(found.task, arm.recipe or found.recipe or self.scale.name, [*settings, *arm.settings])

    def _words(self, config: TaskConfig, base: TaskConfig, model: PlannedModel | None) -> list[str]:
        """The biLM, or `none`, and each setting that differs from the recipe: `penalty.1.0`."""
        if config.inputs.elmo is None:
            base = replace(base, inputs=replace(base.inputs, elmo=None))
        before, after = flat_settings(base), flat_settings(config)
        short = {name: name.removeprefix("inputs.elmo.").removeprefix("training.") for name in after}
        changed = [f"{short[name]}.{value}".lower() for name, value in after.items() if before[name] != value]
        if config.inputs.elmo is None:
            return ["none", *changed]
        return ["elmo", self.fingerprint if model is None else model.name, *changed]


def distinct_runs(runs: Iterable[PlannedRun]) -> list[PlannedRun]:
    """Each run once, with its test scores if one of its tables wants them; the first seeds of all before the second."""
    distinct: dict[str, PlannedRun] = {}
    for run in runs:
        if run.name not in distinct or run.scores_tests:
            distinct[run.name] = run
    return sorted(distinct.values(), key=lambda run: run.config.training.seed)


def flat_settings(config: TaskConfig) -> dict[str, Any]:
    """All settings by name, `inputs.elmo.penalty` for instance; ELMo's are left out if there is no ELMo."""
    parts: dict[str, dict[str, Any]] = asdict(config)
    elmo: dict[str, Any] | None = parts["inputs"].pop("elmo")
    if elmo is not None:
        parts["inputs.elmo"] = elmo
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}
