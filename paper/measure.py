"""Tables that are measured without training a task: what vectors know of senses and parts of speech, and surprisal.

Each measures what the results lack, and adds rows, and which test items are right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from elmokit.analysis.polysemes import read_polysemes
from elmokit.analysis.polysemy import nearest_hits, occurrence_vectors
from elmokit.elmo.elmo import Elmo
from elmokit.formats.find import DEFAULT_MODEL, FINGERPRINT_DIGITS, model_name
from elmokit.integrations.embed_with import open_static
from elmokit.layers.devices import describe_machine, find_device
from elmokit.metrics.score import Score
from elmokit.model.vector_source import VectorSource
from elmokit.runs.log import provenance
from elmokit.runs.results_table import Result
from elmokit.system.paths import default_cache
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from paper.comparators.all_comparators import COMPARATORS, open_comparator
from paper.comparators.ims import train_ims
from paper.comparators.sense_tagger import train_sense_tagger
from paper.data import data_folder, glove_file
from paper.experiments import KOREAN_MODEL, RANDOM
from paper.models import MODELS_FOLDER, measure_finetuned, measure_held_out, random_elmo
from paper.probes.disambiguation import Answers, disambiguate, first_senses
from paper.probes.neighbours import neighbour_shares
from paper.probes.sense_corpora import POS, Instance, SenseCorpus, read_inventory, read_sense_corpus
from paper.probes.tag_probe import FORM, UPOS, XPOS, probe_tags, read_tagged
from paper.probes.targets import mixes, sentence_vectors
from paper.results import Results, cluster_steps
from paper.surprisal import blimp_results, reading_times_results
from paper.train import Setup

RANDOM_WEIGHTS = "random weights"
"""How the name of a biLM ends that was not trained."""
VECTOR_ENDINGS = (".npy", ".npz", ".h5", ".hdf5", ".safetensors")


@dataclass(frozen=True)
class Request:
    """What is measured."""

    results: Results
    data_dir: Path = Path(".data")
    models: tuple[str, ...] = ()
    """Models, files of vectors, or SYSTEM:MODEL; none stands for the choice of the table."""
    word_vectors: Path | None = None
    """Word vectors of the systems among them that read some."""
    runs_dir: Path = Path("runs/reproduce")
    """Folder of the runs, with the biLMs that were fine-tuned for them."""


@dataclass(frozen=True)
class System:
    """Something that gives every token of a sentence a vector, or one for each layer."""

    name: str
    layers: VectorSource
    is_bilm: bool = False
    """Whether it is a biLM that has been trained."""

    @property
    def fingerprint(self) -> str:
        return self.layers.fingerprint()[:FINGERPRINT_DIGITS]


@dataclass(frozen=True)
class Scores:
    """What a system reaches on some data: numbers by layer, split and metric; and, by layer, which items are right."""

    values: Mapping[tuple[str, str, str], float]
    hits: Mapping[str, Sequence[object]] = field(default_factory=dict[str, Sequence[object]])


def open_system(given: str, *, word_vectors: Path | None = None) -> System:
    """Open a system: a model, `random:MODEL`, a comparator (`static:FILE`, `cove:FOLDER`), or a file of vectors.

    The activations of a model are cached on disk (`vectors/cache.py`), so that the tables share them.
    Raises FileNotFoundError and ValueError for what cannot be opened.
    """
    kind, _, model = given.partition(":")
    if model and kind == RANDOM:
        control = CachedActivations(random_elmo(Elmo.from_pretrained(model).config), folder=default_cache())
        return System(f"{model_name(model)}, {RANDOM_WEIGHTS}", control)
    if model and kind in COMPARATORS:
        name = Path(model).name.removesuffix(".gz").removesuffix(".xz").removesuffix(".txt")
        return System(f"{kind}, {name}", open_comparator(kind, model, word_vectors=word_vectors))
    if Path(given).suffix in VECTOR_ENDINGS:
        return System(Path(given).stem, FileVectorSource(given))
    layers = CachedActivations(Elmo.from_pretrained(given), folder=default_cache())
    return System(model_name(given), layers, is_bilm=True)


def measure(name: str, request: Request) -> None:
    """Measure a table. Raises FileNotFoundError, naming the path, for data that are not there."""
    MEASURED[name](request)


def _senses_by_nearest_mean(request: Request) -> None:
    """Table 5."""
    known, (asked, inventory) = read_semcor(request.data_dir), _read_senses(request.data_dir)
    clusters = _clusters(each.target.sentence for each in asked.instances)

    def scores(answers: Mapping[str, Answers]) -> Scores:
        values = {
            (layer, split, "f1"): score
            for layer, own in answers.items()
            for split, score in sense_scores(asked, own).items()
        }
        return Scores(
            values,
            {layer: [own.get(each.name) in each.senses for each in asked.instances] for layer, own in answers.items()},
        )

    where = Result(0.0, "", "table5", data="ALL", corpus_size=len(asked.instances))
    _add(
        request,
        where,
        clusters,
        lambda system: scores(disambiguate(system.layers, known=known, asked=asked, inventory=inventory)),
    )
    _add_one(request, where, clusters, lambda: scores({FIRST_SENSE: first_senses(asked, inventory)}))


def _senses_by_training(request: Request) -> None:
    """The supervised lines of table 5: `ims`, `ims:FILE`, `ims-s:FILE` or `sense-tagger:SETTING=VALUE,...`."""
    asked, inventory = _read_senses(request.data_dir)
    words = {each.word for each in asked.instances}
    known = read_semcor(request.data_dir).with_words(words)
    for given in request.models or ("ims", f"ims-s:{glove_file(request.data_dir)}"):
        kind, _, rest = given.partition(":")
        if kind not in ("ims", "ims-s", "sense-tagger"):
            raise ValueError(f"there is no supervised system {given!r}; expected ims, ims-s or sense-tagger")
        vectors = open_static(rest) if rest and kind != "sense-tagger" else None
        trained = partial(train_sense_tagger, known, rest.split(",") if rest else [])
        if kind != "sense-tagger":
            trained = partial(train_ims, known, vectors=vectors, surrounding_words=kind == "ims")
        name = f"{kind}, {Path(rest).name}" if rest else kind
        print_ = vectors.fingerprint()[:FINGERPRINT_DIGITS] if vectors else ""
        where = Result(
            0.0, "", "senses-supervised", data="ALL", corpus_size=len(asked.instances), model=name, fingerprint=print_
        )

        def scores(trained: Callable[[], Any] = trained) -> Scores:
            answers = trained().predict(asked.with_words(words), inventory)
            return Scores({("answers", split, "f1"): score for split, score in sense_scores(asked, answers).items()})

        _add_one(request, where, None, scores)


def _tags(request: Request, *, table: str) -> None:
    """Table 6, in English or Korean."""
    for corpus in CORPORA[table]:
        folder = data_folder(request.data_dir, corpus.folder)
        parts = [read_tagged(folder / file, columns=corpus.columns) for file in corpus.files]
        clusters = _clusters(number for number, each in enumerate(parts[2]) for _ in each.tokens)

        def scores(system: System, parts: Any = parts) -> Scores:
            found = probe_tags(system.layers, parts)
            values = {
                (layer, split, "accuracy"): getattr(one, split)
                for layer, one in found.items()
                for split in ("dev", "test")
            }
            return Scores(values, {layer: one.hits for layer, one in found.items()})

        where = Result(0.0, "", table, data=corpus.name, corpus_size=len(clusters))
        _add(request, where, clusters, scores, default=ENGLISH if table == "table6" else KOREAN)


def _neighbours(request: Request) -> None:
    """Table 4: the share of occurrences whose nearest other occurrence is alike."""
    corpus, occurrences = read_semcor(request.data_dir), read_polysemes()

    def scores(system: System) -> Scores:
        shares = neighbour_shares(system.layers, corpus)
        listed = occurrence_vectors(sentence_vectors(system.layers, [each.tokens for each in occurrences]), occurrences)
        values: dict[tuple[str, str, str], float] = {}
        for layer, (same_pos, same_sense) in shares.items():
            values[layer, "", "same part of speech"] = 100 * float(same_pos.mean())
            values[layer, "", "same sense"] = 100 * float(same_sense.mean())
        for layer, mix in mixes(system.layers.num_layers).items():
            values[layer, "", "list of polysemes"] = 100 * float(nearest_hits(mix(listed), occurrences).mean())
        for better, worse in (("layer 2", "layer 0"), ("layer 2", "layer 1")):
            if better in shares and worse in shares:
                values |= _kept_gain(f"{better} over {worse}", shares[worse][1], shares[better][1])
        return Scores(values)

    where = Result(0.0, "", "table4", data="SemCor 3.0", corpus_size=len(corpus.instances))
    _add(request, where, None, scores)


def _kept_gain(layers: str, first: np.ndarray, second: np.ndarray) -> dict[tuple[str, str, str], float]:
    """The gain in same sense with its 95 % interval, since the shares of 200,000 occurrences are not kept."""
    gains = 100 * (second - first)
    error = 1.96 * float(gains.std(ddof=1)) / len(gains) ** 0.5
    estimate = float(gains.mean())
    values = {"": estimate, ", low": estimate - error, ", high": estimate + error}
    return {(layers, "", f"gain in same sense{end}"): value for end, value in values.items()}


def _held_out(request: Request) -> None:
    """The perplexities of the biLMs whose gains are compared."""
    models = request.models or (DEFAULT_MODEL,)
    measure_held_out(request.data_dir, models, request.results)


def _finetuned(request: Request) -> None:
    """The perplexities of table 7."""
    runs = Setup(request.data_dir, seeds=1).runs(["table7"])
    for planned in dict.fromkeys(run.model for run in runs if run.model is not None):
        measure_finetuned(planned, request.results, folder=request.runs_dir / MODELS_FOLDER)


def _surprisal(request: Request, *, make: Callable[[Path, str], list[Result]]) -> None:
    for model in request.models or (DEFAULT_MODEL,):
        request.results.add(replace(row, **_origin()) for row in make(request.data_dir, model))


def sense_scores(asked: SenseCorpus, answers: Answers) -> dict[str, float]:
    """F1 in percent over the paper's four sets together, all five, each set, and each part of speech of all five."""

    def f1(group: list[Instance]) -> float:
        """As the Scorer of the evaluation framework counts answers of one key: without one, only recall falls."""
        correct = sum(answers.get(each.name) in each.senses for each in group)
        predicted = sum(each.name in answers for each in group)
        return Score.of_matches(correct=correct, predicted=predicted, gold=len(group)).f1

    of_set = {name: [each for each in asked.instances if each.name.startswith(f"{name}.")] for name in SETS}
    of_pos = {pos: [each for each in asked.instances if each.pos == pos] for pos in POS}
    of_four = list(chain.from_iterable(group for name, group in of_set.items() if name != "semeval2007"))
    groups = {"four sets": of_four, "ALL": asked.instances, **of_set, **of_pos}
    return {name: f1(group) for name, group in groups.items() if group}


def read_semcor(data_dir: Path) -> SenseCorpus:
    """SemCor, in the form of the evaluation framework."""
    folder = data_folder(data_dir, "tasks/wsd_raganato") / "Training_Corpora" / "SemCor"
    return read_sense_corpus(folder / "semcor.data.xml", folder / "semcor.gold.key.txt")


def _read_senses(data_dir: Path) -> tuple[SenseCorpus, Any]:
    """The five test sets of the evaluation framework, one after the other, and WordNet's senses."""
    folder = data_folder(data_dir, "tasks/wsd_raganato") / "Evaluation_Datasets" / "ALL"
    inventory = read_inventory(data_folder(data_dir, "tasks/wordnet30") / "index.sense")
    return read_sense_corpus(folder / "ALL.data.xml", folder / "ALL.gold.key.txt"), inventory


def _add(
    request: Request,
    where: Result,
    clusters: np.ndarray | None,
    scores: Callable[[System], Scores],
    *,
    default: Sequence[str] = (),
) -> None:
    """Measure the systems of a request that the results lack on these data; they are known by their fingerprint."""
    for given in request.models or default or (*ENGLISH, f"static:{glove_file(request.data_dir)}"):
        system = open_system(given, word_vectors=request.word_vectors)
        named = replace(where, model=system.name, fingerprint=system.fingerprint)
        _add_one(request, named, clusters, partial(scores, system))


def _add_one(request: Request, where: Result, clusters: np.ndarray | None, scores: Callable[[], Scores]) -> None:
    same = {name: getattr(where, name) for name in ("data", "model", "fingerprint", "corpus_size")}
    if request.results.select(where.table, **same):
        return
    began = time.process_time()
    found = scores()
    where = replace(where, cpu_minutes=round((time.process_time() - began) / 60, 2), **_origin())
    key = f"{where.table}/{where.data}/{where.fingerprint or where.model}"
    arrays = {f"hits/{key}/{layer}": np.packbits(np.array(hits, bool)) for layer, hits in found.hits.items()}
    if clusters is not None:
        arrays[f"clusters/{where.table}/{where.data}"] = clusters
    rows = [
        replace(where, layer=layer, split=split, metric=metric, value=round(value, 3))
        for (layer, split, metric), value in found.values.items()
    ]
    request.results.add(rows, arrays)


def _origin() -> dict[str, str]:
    return {"commit": provenance()["commit"], "machine": describe_machine(find_device(None))}


def _clusters(names: Iterable[int]) -> np.ndarray:
    """What `Results` keeps of the clusters of items: numbers from 0, in the order in which they come."""
    ordered = list(names)
    numbers = {name: number for number, name in enumerate(dict.fromkeys(ordered))}
    return cluster_steps([numbers[name] for name in ordered])


@dataclass(frozen=True)
class Corpus:
    """A tagged corpus in three files: training, development and test data."""

    name: str
    folder: str
    files: tuple[str, str, str]
    columns: tuple[int, int]
    """Of tokens and tags, from 0."""


SETS = ("senseval2", "senseval3", "semeval2007", "semeval2013", "semeval2015")
FIRST_SENSE = "WordNet 1st sense"
ENGLISH = (DEFAULT_MODEL, f"{RANDOM}:{DEFAULT_MODEL}")
KOREAN = (KOREAN_MODEL, f"{RANDOM}:{KOREAN_MODEL}")
_EWT = ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")
_GSD = ("train.conllu", "dev.conllu", "test.conllu")
CORPORA = {
    "table6": (
        Corpus("PTB sample", "tasks/pos_ptb_sample", ("train.tsv", "dev.tsv", "test.tsv"), (0, 1)),
        Corpus("EWT, PTB tags", "tasks/pos_ud_ewt", _EWT, (FORM, XPOS)),
        Corpus("EWT, UPOS", "tasks/pos_ud_ewt", _EWT, (FORM, UPOS)),
    ),
    "table6-ko": (
        Corpus("Korean GSD, UPOS", "ko/tasks/ud_gsd", _GSD, (FORM, UPOS)),
        Corpus("Korean GSD, morphemes", "ko/tasks/ud_gsd", _GSD, (FORM, XPOS)),
    ),
}
"""The last one has the tags of an eojeol's morphemes together, such as NNG+JKB: do lower layers know morphology?"""
MEASURED: dict[str, Callable[[Request], None]] = {
    "table4": _neighbours,
    "table5": _senses_by_nearest_mean,
    "senses-supervised": _senses_by_training,
    "table6": partial(_tags, table="table6"),
    "table6-ko": partial(_tags, table="table6-ko"),
    "perplexity": _held_out,
    "table7": _finetuned,
    "blimp": partial(_surprisal, make=blimp_results),
    "reading-times": partial(_surprisal, make=reading_times_results),
}
"""The tables that are measured here, by name."""
