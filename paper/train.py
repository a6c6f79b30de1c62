"""Missing rows -> training runs -> rows: makes runs of the experiments, trains them, and adds them to the results.

The name of a run says its data set, its scale, and what its arm changes in the recipe, so tables that need the same run
share it.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from elmokit.elmo.elmo import Elmo
from elmokit.files.atomic import write_text
from elmokit.formats.find import FINGERPRINT_DIGITS, resolve_model
from elmokit.formats.native import write_native
from elmokit.formats.read import to_weights
from elmokit.layers.devices import seeded
from elmokit.metrics.answers import answer_f1
from elmokit.metrics.coreference import score_coreference
from elmokit.metrics.roles import score_roles
from elmokit.metrics.score import Score
from elmokit.metrics.spans import score_spans
from elmokit.model.bilm import BiLM
from elmokit.model.config import BiLMConfig
from elmokit.pretraining.finetune import finetune
from elmokit.pretraining.recipes import finetuning
from elmokit.pretraining.train import resume_pretraining
from elmokit.report.tasks import TaskRun, read_task_run
from elmokit.runs.folder import CONFIG_NAME, METRICS_NAME
from elmokit.runs.log import append_json_line, read_log, read_runs
from elmokit.runs.results_table import Result
from elmokit.runs.tensor_files import DivergenceError
from elmokit.tasks.config import TaskConfig, with_settings
from elmokit.tasks.data import read_files
from elmokit.tasks.predict import load_task
from elmokit.tasks.run import TaskRecord, read_record
from elmokit.tasks.task import find_task, task_recipe
from elmokit.tasks.train import resume_task, train
from paper.experiments import (
    DATASETS,
    EARLIER,
    EXPERIMENTS,
    FINETUNED,
    LATIN_ARMS,
    RANDOM,
    SCALES,
    WHERE_DATA_ARE,
    Arm,
    Experiment,
    Scale,
    unpacked,
)
from paper.results import Results, cluster_steps, numbered

_RESOLVED = ("inputs.word_dim", "inputs.word_vectors", "inputs.elmo.model")
"""Settings that a run records in another form than it was given."""
ITEMS_NAME = "items.json.gz"
RANDOM_SEED = 0
MODELS_FOLDER = "models"
"""Folder of the biLMs that are made here, inside the folder of the runs."""
Counts = tuple[float, ...]


@dataclass(frozen=True)
class Place:
    """Where a run is in the tables."""

    table: str
    recipe: str
    arm: str
    tests: bool
    """Whether the table shows scores on test sets, too."""


@dataclass(frozen=True)
class MadeModel:
    """What takes the place of a biLM: one that is made before the runs that use it, or vectors of another system."""

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

    def make(self, folder: Path) -> Path:
        """Make it in `folder`, unless it is there, and return its folder. Continues an interrupted training."""
        found = folder / self.name
        start = resolve_model(self.start)
        if self.kind == FINETUNED:
            self._finetune(start, found)
        elif not (found / CONFIG_NAME).is_file():
            write_native(found, to_weights(random_elmo(Elmo.from_pretrained(start).config).bilm))
        return found

    def sentences(self, split: str, chosen: slice = slice(None)) -> list[tuple[str, ...]]:
        """The distinct sentences of a split of the data set; `chosen` selects sentences of each example."""
        task = find_task(self.task)
        files, config = getattr(task.find(self.data), split), task_recipe(self.task).model
        examples = read_files(task, files, config, name=split, training=split == "train").examples
        found = (tuple(sentence) for example in examples for sentence in task.sentences(example)[chosen])
        return list(dict.fromkeys(sentence for sentence in found if sentence))

    def _finetune(self, start: Path, run_dir: Path) -> None:
        """One epoch with the settings of `elmokit finetune`."""
        if (run_dir / CONFIG_NAME).is_file():
            resume_pretraining(run_dir)
            return
        sentences = self.sentences("train")
        text = run_dir.parent / f"text-{self.task}-{self.data.name}" / "train.txt"
        text.parent.mkdir(parents=True, exist_ok=True)
        write_text(text, "".join(" ".join(sentence) + "\n" for sentence in sentences))
        num_predictions = sum(len(sentence) + 1 for sentence in sentences)  # the tokens, and the end of each sentence
        num_steps = math.ceil(num_predictions / finetuning(Elmo.from_pretrained(start).config).tokens_per_step)
        settings = ["evaluate_every=0", f"num_steps={num_steps}", f"decay_steps={num_steps}"]
        finetune(start, [text], run_dir=run_dir, settings=settings)


def random_elmo(config: BiLMConfig) -> Elmo:
    """A biLM with the weights that pretraining starts from, the same ones in every process."""
    with seeded(RANDOM_SEED):
        return Elmo(BiLM(config).requires_grad_(False))


@dataclass(frozen=True)
class PlannedRun:
    """A run of `elmokit train`."""

    name: str
    """Name of its folder."""
    dataset: str
    """Name of its data set."""
    data: Path
    """Folder of the data set."""
    config: TaskConfig
    model: MadeModel | None
    """The biLM, if it has to be made. It replaces the biLM of the config."""
    fingerprint: str
    """First digits of the fingerprint of the config's biLM; empty if it has none, or another one takes its place."""
    scores_tests: bool
    """Whether the test files are scored."""
    places: tuple[Place, ...]

    @property
    def task(self) -> str:
        return DATASETS[self.dataset].task


@dataclass(frozen=True)
class Setup:
    """What all runs share."""

    data_dir: Path = Path(".data")
    """Folder of all data."""
    scale: Scale = SCALES["cpu"]
    seeds: int | None = None
    """Number of seeds, from 0; None for the scale's number."""
    model: str | None = None
    """The biLM of all runs; None for the biLMs that each experiment names."""

    def runs(self, tables: Iterable[str], tasks: Collection[str] = ()) -> list[PlannedRun]:
        """The runs of tables, each once: seed 0 of all, then seed 1. tasks: data sets to select; empty for all."""
        found: dict[str, PlannedRun] = {}
        for table in tables:
            for experiment in EXPERIMENTS.get(table, ()):
                for run in self.runs_of(table, experiment):
                    known = found.get(run.name, replace(run, places=()))
                    tests = known.scores_tests or run.scores_tests
                    found[run.name] = replace(
                        run, scores_tests=tests, places=tuple(dict.fromkeys([*known.places, *run.places]))
                    )
        runs = [run for run in found.values() if not tasks or run.dataset in tasks]
        return sorted(runs, key=lambda run: run.config.training.seed)

    def runs_of(self, table: str, experiment: Experiment) -> list[PlannedRun]:
        """The runs of one experiment of a table."""
        models = experiment.models if self.model is None else (self.model,)
        runs = [
            self._run(table, experiment, model, dataset, arm, seed)
            for model in models
            for dataset in experiment.tasks
            for arm in experiment.arms
            for seed in range(self.scale.seeds if self.seeds is None else self.seeds)
        ]
        return [run for run in runs if run is not None]

    def _run(
        self, table: str, experiment: Experiment, model: str, dataset: str, arm: Arm, seed: int
    ) -> PlannedRun | None:
        """A run; None if the scale has no such recipe."""
        found, training = DATASETS[dataset], experiment.training
        recipe = arm.recipe or training.recipe or found.recipe
        if recipe and (self.scale.name != "cpu" or recipe not in find_task(found.task).recipes):
            return None
        base = self._config(dataset, model, recipe, ())
        config = self._config(dataset, model, recipe, (*training.settings, *arm.settings))
        made = None
        if arm.vectors:
            made = MadeModel(arm.vectors, model, fingerprint_of(model), found.task, self.data(dataset))
        own = config.inputs.elmo is not None and made is None
        fingerprint = fingerprint_of(model)
        what = "none" if config.inputs.elmo is None else f"elmo-{made.name if made else fingerprint}"
        recipes = (arm.recipe or training.recipe,) if arm.recipe or training.recipe else ()
        return PlannedRun(
            name="-".join([dataset, self.scale.name, *recipes, what, *_changed(base, config), str(seed)]),
            dataset=dataset,
            data=self.data(dataset),
            config=replace(config, training=replace(config.training, seed=seed)),
            model=made,
            fingerprint=fingerprint if own else "",
            scores_tests=experiment.tests,
            places=(Place(table, training.name, arm.name, experiment.tests),),
        )

    def data(self, dataset: str) -> Path:
        """The folder of a data set."""
        return unpacked(self.data_dir / DATASETS[dataset].folder)

    def _config(self, dataset: str, model: str, recipe: str, settings: Sequence[str]) -> TaskConfig:
        found = DATASETS[dataset]
        of_all = [f"elmo.model={model}", *found.settings]
        if dataset in self.scale.word_vectors:
            vectors = self.data_dir / self.scale.word_vectors[dataset]
            of_all.append(f"word_vectors={unpacked(vectors.parent) / vectors.name}")
        return task_recipe(found.task, recipe or self.scale.name, [*of_all, *settings])


def missing_runs(runs: Sequence[PlannedRun], rows: Sequence[Result], folder: Path) -> list[PlannedRun]:
    """The runs that have no rows in the results and have not ended in the folder."""
    known = {row.run for row in rows}
    tested = {row.run for row in rows if row.split not in ("", "dev")}
    wanted = [run for run in runs if run.name not in (tested if run.scores_tests else known)]
    return [run for run in wanted if not _has_ended(folder / run.name, tests=run.scores_tests)]


def check_data(runs: Sequence[PlannedRun]) -> None:
    """Raise FileNotFoundError that lists the data sets and word vectors that are missing."""
    missing: list[str] = []
    for data, task in {run.data: run.task for run in runs}.items():
        try:
            find_task(task).find(data)
        except (OSError, ValueError) as error:
            missing.append(str(error) if data.is_dir() else f"{data}: there is no such folder")
    files = dict.fromkeys(run.config.inputs.word_vectors for run in runs if run.config.inputs.word_vectors)
    missing += [f"{file}: there is no such file; expected word vectors" for file in files if not Path(file).is_file()]
    if missing:
        raise FileNotFoundError(". ".join([*missing, WHERE_DATA_ARE]))


def train_runs(runs: Sequence[PlannedRun], folder: Path, *, jobs: int = 1, cache: Path | None = None) -> None:
    """Train runs in their order, and continue interrupted runs. With several jobs, they may end in another order.

    A run that diverges is reported on stderr and skipped, also later, because its log says so. Runs with the vectors
    of another system are not trained here. Raises what `check_data`, making a model and training raise.
    """
    if jobs < 1:
        raise ValueError(f"{jobs} jobs; expected at least 1")
    own = [run for run in runs if run.model is None or run.model.is_made_here]
    check_data(own)
    one = partial(_train_one, folder=folder, cache=cache)
    if jobs == 1:
        for run in own:
            one(run)
        return
    for run in {(run.model, run.config.inputs.elmo and run.config.inputs.elmo.model): run for run in own}.values():
        _config(run, folder)  # so that biLMs are made once
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        list(processes.map(one, own))


def add_runs(
    folders: Sequence[Path],
    results: Results,
    planned: Iterable[PlannedRun],
    *,
    data: str = "",
    corpus_size: int | None = None,
) -> list[str]:
    """Add finished runs, and the outcomes of their test items, to the results; returns their names.

    Runs of `elmokit train tags` need no plan: their arm follows from what they read. The outcomes of their test items
    are computed here.

    planned: all runs of the tables. Only the first run that needs a plan lists them, because that takes a minute.
    data: name of the treebank of runs of tags; empty for the name of its folder.
    corpus_size: words of raw text that the vectors or the biLM of these runs have read.
    Raises ValueError for a run that has not ended, is not planned, or has other settings than planned.
    """
    runs: dict[str, PlannedRun] = {}
    rows: list[Result] = []
    arrays: dict[str, np.ndarray] = {}
    names: list[str] = []
    for folder in folders:
        (logged,) = read_runs([folder])
        run = read_task_run(logged)
        if run.record.task == "tags":
            of_run = tag_results(run, data=data, corpus_size=corpus_size)
        else:
            runs = runs or {one.name: one for one in planned}
            if run.name not in runs:
                raise ValueError(f"{folder} is a run that no table has; its name says which one: leave it as it was")
            check_settings(run.record, runs[run.name], where=folder)
            has_diverged = any("diverged" in line.values for line in logged.records)
            of_run = run_results(runs[run.name], run, has_diverged=has_diverged)
        if not of_run:
            raise ValueError(f"{folder} has not ended; continue it with `elmokit train --resume {folder} --test`")
        rows += of_run
        arrays |= _arrays(folder, of_run[0], [line.values for line in logged.records])
        names.append(of_run[0].run)
    results.add(rows, arrays)
    return names


def _arrays(folder: Path, row: Result, log: Sequence[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """The learning curve of a run, and what its test items contribute to its score."""
    key, metric = f"{row.run}@{row.commit}", DATASETS[row.task].metric
    points = [[line["step"], line["dev"][metric]] for line in log if "step" in line]
    arrays: dict[str, np.ndarray] = {f"curve/{key}": np.array(points, np.float32).reshape(-1, 2)}
    if row.task == "tags" and not (folder / ITEMS_NAME).exists():
        measure_items(folder)
    if (folder / ITEMS_NAME).exists():
        items = json.loads(gzip.decompress((folder / ITEMS_NAME).read_bytes()))
        counts = np.array(items["counts"], np.float32)
        whole = counts.astype(np.uint16)
        arrays[f"counts/{key}/{items['test_set']}"] = whole if (whole == counts).all() else counts
        where = f"latin/{row.data}" if row.task == "tags" else f"{row.task}/{items['test_set']}"
        arrays[f"clusters/{where}"] = cluster_steps(items["clusters"])
    return arrays


def tag_results(run: TaskRun, *, data: str, corpus_size: int | None) -> list[Result]:
    """The rows of a run of `elmokit train tags`. Its arm is what it reads besides its treebank."""
    inputs, arm = run.record.inputs, LATIN_ARMS[0]
    if inputs.word_vectors:
        arm = "fastText"
    if inputs.elmo:
        vectors = Path(inputs.elmo.model).stem if run.record.other_vectors else "biLM"
        vectors = "fastText" if vectors.lower().startswith("fasttext") else vectors
        arm = vectors if arm == LATIN_ARMS[0] else "both" if vectors == "biLM" else f"{arm}, {vectors}"
    read = None if arm == LATIN_ARMS[0] else corpus_size
    row = replace(run.row, data=data or run.data)
    parts = ("tags", row.data, arm, read or 0, row.fingerprint, row.train_size, row.seed)
    name = "-".join(str(part) for part in parts if part != "")
    rows = _in_place(run, _score_rows(run, "tags"), Place("latin", "", arm, tests=True))
    return [replace(one, data=row.data, corpus_size=read, run=name) for one in rows]


def run_results(planned: PlannedRun, run: TaskRun, *, has_diverged: bool = False) -> list[Result]:
    """The rows of a run for each of its places in the tables; none if it has not ended."""
    found = _score_rows(run, planned.dataset)
    if has_diverged:
        ended = {"split": "dev", "corpus_size": run.num_examples("dev"), "stopped_by": "diverged", "best_epoch": None}
        found = [replace(run.row, value=1.0, metric="diverged", epochs=None, **ended)]
    return [
        replace(row, task=planned.dataset)
        for place in planned.places
        for row in _in_place(run, _mix_rows(run) if place.table == "figure2" else found, place)
    ]


def _score_rows(run: TaskRun, dataset: str) -> list[Result]:
    """The scores that the results keep for a data set."""
    metric, others = DATASETS[dataset].metric, DATASETS[dataset].other_metrics
    return [row for row in run.score_rows() if row.metric == metric or (row.split != "dev" and row.metric in others)]


def _in_place(run: TaskRun, rows: Iterable[Result], place: Place) -> list[Result]:
    earlier = {digits: model for model, digits in EARLIER.items()}
    settings = {"date": (run.result and run.result.date) or "", "recipe": place.recipe}
    return [
        replace(
            row,
            table=place.table,
            arm=place.arm,
            model=earlier.get(row.fingerprint, row.model.removesuffix(".npy")),
            settings=settings,
        )
        for row in rows
        if place.tests or row.split == "dev"
    ]


def _mix_rows(run: TaskRun) -> list[Result]:
    """The weights that a run has learnt for the layers, lowest first, at each position, and the scale of its mix."""
    found: list[Result] = []
    common = replace(run.row, split="dev", corpus_size=run.num_examples("dev"))
    for position, mix in (run.result.mixes if run.result else {}).items():
        found.append(replace(common, metric="gamma", layer=position, value=mix.gamma))
        weights = enumerate(mix.shares)
        found += [replace(common, metric="weight", layer=f"{position} {at}", value=weight) for at, weight in weights]
    return found


def check_settings(record: TaskRecord, planned: PlannedRun, *, where: Path) -> None:
    """Raise ValueError if a run that was found under a planned name has other settings, or another biLM."""
    before, now = flat_settings(record.config), flat_settings(planned.config)
    names = [name for name in now if name not in _RESOLVED and name in before and before[name] != now[name]]
    names += ["the biLM"] if not (record.elmo_fingerprint or "").startswith(planned.fingerprint) else []
    if record.task != planned.task or names:
        raise ValueError(
            f"{where} holds a run with other settings ({', '.join(names) or 'task'}); move it away, or give another "
            "folder"
        )


def flat_settings(config: TaskConfig) -> dict[str, Any]:
    """All settings by name, `inputs.elmo.penalty` for instance; ELMo's are left out if there is no ELMo."""
    values: dict[str, dict[str, Any]] = asdict(config)
    elmo: dict[str, Any] = values["inputs"].pop("elmo") or {}
    parts = {"model": values["model"], "training": values["training"], "inputs.elmo": elmo, "inputs": values["inputs"]}
    return {f"{part}.{name}": value for part, own in parts.items() for name, value in own.items()}


@cache
def fingerprint_of(model: str) -> str:
    """The first digits of a biLM's fingerprint. Models of EARLIER need not be there. Raises FileNotFoundError."""
    return EARLIER.get(model) or Elmo.from_pretrained(model).fingerprint()[:FINGERPRINT_DIGITS]


def _changed(base: TaskConfig, config: TaskConfig) -> list[str]:
    """Each setting that differs from the recipe: `penalty.1.0`."""
    if config.inputs.elmo is None:
        base = replace(base, inputs=replace(base.inputs, elmo=None))
    before, after = flat_settings(base), flat_settings(config)
    short = {name: name.removeprefix("inputs.elmo.").removeprefix("training.") for name in after}
    return [f"{short[name]}.{value}".lower() for name, value in after.items() if before[name] != value]


def _has_ended(folder: Path, *, tests: bool) -> bool:
    log = folder / METRICS_NAME
    records = read_log(log).records
    last = records[-1].values if records else {}
    return "diverged" in last or (last.get("result") is True and (bool(last["test"]) or not tests))


def _train_one(run: PlannedRun, *, folder: Path, cache: Path | None) -> None:
    run_dir, test = folder / run.name, run.scores_tests
    print(run.name, file=sys.stderr, flush=True)
    try:
        config = _config(run, folder)
        if (run_dir / CONFIG_NAME).is_file():
            check_settings(read_record(run_dir), run, where=run_dir)
            model = config.inputs.elmo and config.inputs.elmo.model  # the biLM and the data may have moved
            resume_task(run_dir, data=run.data, elmo_model=model, test=test, cache=cache)
        else:
            train(run.task, run.data, run_dir=run_dir, config=config, test=test, cache=cache)
    except DivergenceError as error:
        print(f"{run.name} has diverged: {error}", file=sys.stderr, flush=True)
        log = run_dir / METRICS_NAME
        num_epochs = len(read_log(log).records)
        append_json_line(log, {"epoch": num_epochs + 1, "diverged": str(error)})
    else:
        if test:
            measure_items(run_dir, elmo_model=config.inputs.elmo and config.inputs.elmo.model)


def _config(run: PlannedRun, folder: Path) -> TaskConfig:
    """The run's config with the folder of its biLM. Makes the biLM if it is not there."""
    elmo = run.config.inputs.elmo
    if elmo is None:
        return run.config
    made = resolve_model(elmo.model) if run.model is None else run.model.make(folder / MODELS_FOLDER)
    return with_settings(run.config, [f"elmo.model={made}"])


def measure_items(run_dir: Path, *, elmo_model: str | None = None) -> None:
    """Write the counts and clusters of all test items into a run's folder. Raises what loading its model raises."""
    trained = load_task(run_dir, elmo_model=elmo_model)
    task, record = trained.task, trained.record
    for path in record.files.test[:1]:
        examples = read_files(task, [path], record.config.model, name=path.name).examples
        predictions = trained.model_predictions(examples)
        counts = [COUNTS[task.name](example, made) for example, made in zip(examples, predictions, strict=True)]
        clusters = numbered(CLUSTER.get(task.name, id)(example) for example in examples)
        found = {"test_set": path.name, "clusters": clusters, "counts": counts}
        (run_dir / ITEMS_NAME).write_bytes(gzip.compress(json.dumps(found).encode(), mtime=0))


def _matches(example: Any, prediction: Any, *, score: Callable[..., Any]) -> Counts:
    overall: Score = score(gold=[example.tags], predicted=[prediction]).overall
    return (overall.correct, overall.predicted, overall.gold)


def _words(example: Any, prediction: Any) -> Counts:
    """Right words and all words of a sentence; then the same for words whose vectors were not learnt in training."""
    right = [gold == guess for gold, guess in zip(example.tags, prediction.tags, strict=True)]
    unknown = [hit for hit, is_known in zip(right, prediction.known, strict=True) if not is_known]
    return (sum(right), len(right), sum(unknown), len(unknown))


def _labels(example: Any, prediction: Any) -> Counts:
    return (float(example.label == prediction.label), 1.0)


def _answers(example: Any, prediction: Any) -> Counts:
    return (max(answer_f1(prediction.text, answer.text) for answer in example.answers), 1.0)


def _clusters(example: Any, prediction: Any) -> Counts:
    result = score_coreference(gold=example.clusters, predicted=prediction)
    parts = (result.muc, result.b_cubed, result.ceaf_e)
    return tuple(number for part in parts for number in (part.correct, part.predicted, part.recalled, part.gold))


COUNTS: Mapping[str, Callable[[Any, Any], Counts]] = {
    "named-entities": partial(_matches, score=score_spans),
    "semantic-roles": partial(_matches, score=score_roles),
    "coreference": _clusters,
    "entailment": _labels,
    "question-answering": _answers,
    "sentiment": _labels,
    "tags": _words,
}
"""By task: (example, prediction) -> what the item adds to the sums; `statistics.SCORES` computes a score from them. The
items are, in order: sentences, predicates, documents, pairs, questions, sentences and sentences."""
CLUSTER: Mapping[str, Callable[[Any], Hashable]] = {
    "semantic-roles": lambda example: tuple(example.tokens),
    "question-answering": lambda example: example.article,
}
"""What items that are not independent have in common. In the other tasks, each item is a cluster."""
