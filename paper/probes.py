"""Tables that are measured without training a task: what vectors know about senses and parts of speech; perplexities.

Each measurement adds the rows that the results lack, and which test items are right. An item is a *target*: a word of a
sentence, with one or several tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.analysis.polysemes import read_polysemes
from elmokit.analysis.polysemy import TIE, nearest_hits
from elmokit.elmo.elmo import Elmo
from elmokit.elmo.encoding import unit_vectors
from elmokit.files.lines import read_lines, split_tokens
from elmokit.formats.find import DEFAULT_MODEL, FINGERPRINT_DIGITS, model_name, resolve_model
from elmokit.integrations.embed_with import open_static
from elmokit.layers.devices import describe_machine, find_device
from elmokit.metrics.statistics import Interval
from elmokit.model.vector_source import VectorSource
from elmokit.runs.log import provenance
from elmokit.runs.results_table import Result
from elmokit.system.batches import batched
from elmokit.system.paths import default_cache
from elmokit.tasks.tags.task import TaggedWords, read_tagged_words
from elmokit.text.corpora.cells import plain_token
from elmokit.text.tokenizer import split_sentences, tokenize
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from paper.comparators.all_comparators import COMPARATORS, open_comparator
from paper.comparators.ims import train_ims
from paper.comparators.sense_tagger import train_sense_tagger
from paper.experiments import KOREAN_MODEL, RANDOM, unpacked
from paper.results import ItemCounts, Results, cluster_steps
from paper.senses import (
    Instance,
    SenseCorpus,
    Senses,
    Target,
    read_inventory,
    read_semcor,
    read_senses,
    sense_scores,
    word_of,
)
from paper.statistics import over_clusters, share
from paper.train import MODELS_FOLDER, Setup, random_elmo

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Float32, Float64, Int, Int64

    Mix = Callable[[Float32[np.ndarray, "L N E"]], Float32[np.ndarray, "N E"]]
    Shares = Float64[np.ndarray, " _"]

VECTOR_ENDINGS = (".npy", ".npz", ".h5", ".hdf5", ".safetensors")
SENTENCES_PER_BATCH, QUERIES_PER_BLOCK = 256, 1024
AVERAGE, UPPER_AVERAGE, EQUAL_SIZE = "average", "average without layer 0", "average of layers of equal size"
CHANCE, FIRST_SENSE = "chance", "WordNet 1st sense"
BATCH_SIZE, NUM_EPOCHS, LEARNING_RATE = 512, 8, 3e-3
"""Settings of the probe of tags. Ours: on the Penn Treebank sample, more epochs do not raise development accuracy."""
ENGLISH = (DEFAULT_MODEL, f"{RANDOM}:{DEFAULT_MODEL}")
KOREAN = (KOREAN_MODEL, f"{RANDOM}:{KOREAN_MODEL}")
_EWT = ("en_ewt-ud-train.conllu", "en_ewt-ud-dev.conllu", "en_ewt-ud-test.conllu")
_GSD = ("train.conllu", "dev.conllu", "test.conllu")
CORPORA = {
    "table6": (
        ("PTB sample", "tasks/pos_ptb_sample", ("train.tsv", "dev.tsv", "test.tsv"), "xpos"),
        ("EWT, PTB tags", "tasks/pos_ud_ewt", _EWT, "xpos"),
        ("EWT, UPOS", "tasks/pos_ud_ewt", _EWT, "upos"),
    ),
    "table6-ko": (
        ("Korean GSD, UPOS", "ko/tasks/ud_gsd", _GSD, "upos"),
        ("Korean GSD, morphemes", "ko/tasks/ud_gsd", _GSD, "xpos"),
    ),
}
"""Tagged corpora: name, folder, files of training, development and test data, and the column of the tags. In the
last one, a tag joins the tags of an eojeol's morphemes, such as NNG+JKB: do lower layers know morphology?"""
HELD_OUT, LATIN = "en/heldout.txt.xz", "la"
TEXTS = {
    ("entailment", ""): "SNLI",
    ("semantic-roles", ""): "CoNLL 2012 (coref/SRL)",
    ("named-entities", ""): "CoNLL 2003 (NER)",
    ("question-answering", "contexts"): "SQuAD, contexts",
    ("question-answering", "questions"): "SQuAD, questions",
    ("sentiment", ""): "SST",
}
"""The paper's rows of table 7 by task and part of an example; our semantic roles are the English Web Treebank's."""


@dataclass(frozen=True)
class Request:
    """What to measure."""

    results: Results
    data_dir: Path = Path(".data")
    models: tuple[str, ...] = ()
    """Models, files of vectors, or SYSTEM:MODEL; empty for the table's own choice."""
    word_vectors: Path | None = None
    """Word vectors, for systems that read some."""
    runs_dir: Path = Path("runs/reproduce")
    """Folder of the runs, with the biLMs that were fine-tuned for them."""
    corpus_size: int | None = None
    """Words of raw text that a biLM of Latin has read."""

    def folder(self, name: str) -> Path:
        """The folder of a data set. Raises FileNotFoundError without it."""
        found = unpacked(self.data_dir / name)
        if not found.is_dir():
            raise FileNotFoundError(
                f"{found}: there is no such folder; CONTRIBUTING.md (Data) says where data have to be"
            )
        return found

    @property
    def glove(self) -> Path:
        """The word vectors that the tables compare with."""
        return unpacked(self.data_dir / "tasks/glove") / "glove.6B.50d.100k.txt.gz"


@dataclass(frozen=True)
class System:
    """Something that gives every token of a sentence a vector, or one for each layer."""

    name: str
    layers: VectorSource

    @property
    def fingerprint(self) -> str:
        return self.layers.fingerprint()[:FINGERPRINT_DIGITS]


@dataclass(frozen=True)
class Scores:
    """A system's scores on some data: numbers by layer, split and metric; and, by layer, which items are right."""

    values: Mapping[tuple[str, str, str], float]
    hits: Mapping[str, Sequence[object]] = field(default_factory=dict[str, Sequence[object]])


def open_system(given: str, *, word_vectors: Path | None = None) -> System:
    """Open a system: a model, `random:MODEL`, a comparator (`static:FILE`, `cove:FOLDER`), or a file of vectors.

    The activations of a model are cached on disk (`vectors/cache.py`), so that the tables share them.
    Raises FileNotFoundError and ValueError for what cannot be opened.
    """
    kind, _, model = given.partition(":")
    if model and kind == RANDOM:
        control = random_elmo(Elmo.from_pretrained(model).config)
        return System(f"{model_name(model)}, random weights", CachedActivations(control, folder=default_cache()))
    if model and kind in COMPARATORS:
        name = Path(model).name.removesuffix(".gz").removesuffix(".xz").removesuffix(".txt")
        return System(f"{kind}, {name}", open_comparator(kind, model, word_vectors=word_vectors))
    if Path(given).suffix in VECTOR_ENDINGS:
        return System(Path(given).stem, FileVectorSource(given))
    return System(model_name(given), CachedActivations(Elmo.from_pretrained(given), folder=default_cache()))


def measure(name: str, request: Request) -> None:
    """Measure a table. Raises FileNotFoundError, naming the path, for data that are not there."""
    MEASURED[name](request)


def _senses_by_nearest_mean(request: Request) -> None:
    """Table 5."""
    folder = request.folder("tasks/wsd_raganato")
    known, asked = read_semcor(folder), read_senses(folder)
    dictionary = read_inventory(request.folder("tasks/wordnet30") / "index.sense")
    clusters = cluster_steps(each.target.sentence for each in asked.instances)

    def scores(answers: Mapping[str, Mapping[str, str]]) -> Scores:
        values = {
            (layer, split, "f1"): score
            for layer, own in answers.items()
            for split, score in sense_scores(asked, own).items()
        }
        hits = {
            layer: [own.get(each.name) in each.senses for each in asked.instances] for layer, own in answers.items()
        }
        return Scores(values, hits)

    def of_system(system: System) -> Scores:
        return scores(disambiguate(system.layers, known=known, asked=asked, inventory=dictionary))

    where = Result(0.0, "", "table5", data="ALL", corpus_size=len(asked.instances))
    _add(request, where, clusters, of_system)
    _add_one(request, where, clusters, lambda: scores({FIRST_SENSE: first_senses(asked, dictionary)}))


def _senses_by_training(request: Request) -> None:
    """The supervised lines of table 5: `ims`, `ims:FILE`, `ims-s:FILE` or `sense-tagger:SETTING=VALUE,...`."""
    folder = request.folder("tasks/wsd_raganato")
    asked, dictionary = read_senses(folder), read_inventory(request.folder("tasks/wordnet30") / "index.sense")
    words = {each.word for each in asked.instances}
    known = read_semcor(folder).with_words(words)
    for given in request.models or ("ims", f"ims-s:{request.glove}"):
        kind, _, rest = given.partition(":")
        if kind not in ("ims", "ims-s", "sense-tagger"):
            raise ValueError(f"there is no supervised system {given!r}; expected ims, ims-s or sense-tagger")
        vectors = open_static(rest) if rest and kind != "sense-tagger" else None
        train = partial(train_ims, known, vectors=vectors, surrounding_words=kind == "ims")
        if kind == "sense-tagger":
            train = partial(train_sense_tagger, known, rest.split(",") if rest else [])

        def scores(train: Callable[[], Any] = train) -> Scores:
            answers = train().predict(asked.with_words(words), dictionary)
            return Scores({("answers", split, "f1"): score for split, score in sense_scores(asked, answers).items()})

        name = f"{kind}, {Path(rest).name}" if rest else kind
        where = Result(0.0, "", "senses-supervised", data="ALL", corpus_size=len(asked.instances), model=name)
        print_ = vectors.fingerprint()[:FINGERPRINT_DIGITS] if vectors else ""
        _add_one(request, replace(where, fingerprint=print_), None, scores)


def _tags(request: Request, *, table: str) -> None:
    """Table 6, in English or Korean."""
    for name, folder, files, column in CORPORA[table]:
        parts = [read_tagged(request.folder(folder) / file, column=column) for file in files]
        clusters = cluster_steps(number for number, each in enumerate(parts[2]) for _ in each.tokens)

        def scores(system: System, parts: Any = parts) -> Scores:
            found = probe_tags(system.layers, parts)
            values = {(layer, "dev", "accuracy"): one.dev for layer, one in found.items()}
            values |= {(layer, "test", "accuracy"): one.test for layer, one in found.items()}
            return Scores(values, {layer: one.hits for layer, one in found.items()})

        where = Result(0.0, "", table, data=name, corpus_size=len(clusters))
        _add(request, where, clusters, scores, default=ENGLISH if table == "table6" else KOREAN)


def _neighbours(request: Request) -> None:
    """Table 4: the share of occurrences whose nearest other occurrence is alike."""
    corpus, occurrences = read_semcor(request.folder("tasks/wsd_raganato")), read_polysemes()
    places = [Target(number, each.index, each.index + 1) for number, each in enumerate(occurrences)]

    def scores(system: System) -> Scores:
        shares = neighbour_shares(system.layers, corpus)
        listed = target_vectors(system.layers, [each.tokens for each in occurrences], places).astype(np.float64)
        values: dict[tuple[str, str, str], float] = {}
        for layer, (same_pos, same_sense, _) in shares.items():
            values[layer, "", "same part of speech"] = 100 * float(same_pos.mean())
            values[layer, "", "same sense"] = 100 * float(same_sense.mean())
        for layer, mix in mixes(system.layers.num_layers).items():
            values[layer, "", "list of polysemes"] = 100 * float(nearest_hits(mix(listed), occurrences).mean())
        for better, worse in (("layer 2", "layer 0"), ("layer 2", "layer 1")):
            if better in shares and worse in shares:  # the shares of 200,000 occurrences are not kept
                before, after = (_by_lemma(*shares[layer][1:]) for layer in (worse, better))
                gain = over_clusters([before], [after], score=share)
                interval = gain.interval() or Interval(gain.estimate, gain.estimate, gain.estimate)
                for end, value in (("", interval.estimate), (", low", interval.low), (", high", interval.high)):
                    values[f"{better} over {worse}", "", f"gain in same sense{end}"] = value
        return Scores(values)

    where = Result(0.0, "", "table4", data="SemCor 3.0", corpus_size=len(corpus.instances))
    _add(request, where, None, scores)


def _by_lemma(shares: Shares, lemmas: Int64[np.ndarray, " _"]) -> ItemCounts:
    """Shares as test items: the neighbour of an occurrence is another one of its lemma, so lemmas are the clusters."""
    clusters = np.unique(lemmas, return_inverse=True)[1]
    return ItemCounts(np.stack([shares, np.ones_like(shares)], axis=1), clusters)


def _held_out(request: Request) -> None:
    """The perplexities of the biLMs whose gains are compared."""
    sentences = [split_tokens(line) for line in read_lines(request.data_dir / HELD_OUT)]
    for name in request.models or (DEFAULT_MODEL,):
        _add_perplexity(request.results, resolve_model(name), sentences, Result(0.0, "", "perplexity", model=name))


def _latin(request: Request) -> None:
    """The perplexities of biLMs of Latin on the raw text that was held out of each period, `heldout_PERIOD.txt.xz`."""
    for path in sorted(request.folder(LATIN).glob("heldout_*")):
        period = path.name.partition("_")[2].partition(".")[0]
        text = [sentence for line in read_lines(path) for sentence in split_sentences(line)]
        row = Result(0.0, "", "latin", data=period, corpus_size=request.corpus_size)
        for given in request.models:
            model = resolve_model(given)
            _add_perplexity(request.results, model, list(map(tokenize, text)), replace(row, model=model_name(given)))


def _finetuned(request: Request) -> None:
    """The perplexities of table 7: each task's development text, before and after fine-tuning on its training text."""
    folder = request.runs_dir / MODELS_FOLDER
    start = (*request.models, DEFAULT_MODEL)[0]
    runs = Setup(request.data_dir, seeds=1, model=start).runs(["table7"])
    for planned in dict.fromkeys(run.model for run in runs if run.model is not None):
        for number, part in enumerate(part for task, part in TEXTS if task == planned.task):
            sentences = planned.sentences("dev", slice(number, number + 1) if part else slice(None))
            row = Result(0.0, "", "table7", data=TEXTS[planned.task, part], model=planned.start, split="dev")
            for arm, model in (("before", resolve_model(planned.start)), ("after", planned.make(folder))):
                run = f"{planned.name}, {part or 'text'}, {arm}"
                _add_perplexity(request.results, model, sentences, replace(row, arm=arm, run=run))


def _add_perplexity(results: Results, model: Path, sentences: Sequence[Sequence[str]], row: Result) -> None:
    """Add a text's perplexities; if the row has a run, also each sentence's bits and number of predictions."""
    elmo, origin = Elmo.from_pretrained(model), _origin()
    read = elmo.surprisal_model().read(sentences)
    bits = np.array([[one.log2_probability(way) for way in ("forward", "backward")] for one in read])
    counts = np.column_stack([-bits, [len(sentence) + 1 for sentence in sentences]])
    forward, backward = np.exp2(counts[:, :2].sum(axis=0) / counts[:, 2].sum()).tolist()
    size = int(counts[:, 2].sum()) if row.corpus_size is None else row.corpus_size
    print_ = elmo.fingerprint()[:FINGERPRINT_DIGITS]
    common = replace(row, metric="perplexity", fingerprint=print_, corpus_size=size, **origin)
    values = {"mean": (forward + backward) / 2, "forward": forward, "backward": backward}
    rows = [replace(common, layer=way, value=value) for way, value in values.items()]
    arrays = {f"counts/{row.run}@{common.commit}/{row.split}": counts.astype(np.float32)} if row.run else {}
    steps = {f"clusters/{row.data}/{row.split}": cluster_steps(range(len(counts)))} if row.run else {}
    results.add(rows, arrays | steps)


def _add(
    request: Request,
    where: Result,
    clusters: np.ndarray | None,
    scores: Callable[[System], Scores],
    *,
    default: Sequence[str] = (),
) -> None:
    """Measure the requested systems that the results lack on these data. A fingerprint identifies a system."""
    for given in request.models or default or (*ENGLISH, f"static:{request.glove}"):
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


def _origin() -> dict[str, Any]:
    found = provenance()
    machine = describe_machine(find_device(None))
    return {"commit": found["commit"], "machine": machine, "settings": {"date": found["date"]}}


def target_vectors(
    layers: VectorSource, sentences: Sequence[Sequence[str]], targets: Sequence[Target]
) -> Float32[np.ndarray, "L N E"]:
    """Vectors of all targets, at every layer; a target of several tokens has their mean."""
    vectors = np.zeros((layers.num_layers, len(targets), layers.dim), np.float32)
    for indices, found in target_batches(layers, sentences, targets):
        vectors[:, indices] = found
    return vectors


def target_batches(
    layers: VectorSource, sentences: Sequence[Sequence[str]], targets: Sequence[Target]
) -> Iterator[tuple[list[int], Float32[np.ndarray, "L N E"]]]:
    """The same in batches: indices of targets, and their vectors. Sentences without a target are not read."""
    of_sentence: dict[int, list[int]] = {}
    for index, target in enumerate(targets):
        of_sentence.setdefault(target.sentence, []).append(index)
    layers.add(sentences[number] for number in of_sentence)
    by_length = sorted(of_sentence, key=lambda number: len(sentences[number]))  # little padding
    for numbers in batched(by_length, size=SENTENCES_PER_BATCH):
        batch = layers([sentences[number] for number in numbers]).numpy()
        rows = [(row, index) for row, number in enumerate(numbers) for index in of_sentence[number]]
        found = [batch[:, row, targets[index].start : targets[index].end].mean(axis=1) for row, index in rows]
        yield [index for _, index in rows], np.stack(found, axis=1)


def mixes(num_layers: int) -> Mapping[str, Mix]:
    """Functions of layers (L,N,E), by the name of the row: one for each layer, and the mixes if there are several.

    Layer 0 is the token representation of a biLM. In the average of layers of equal size, each vector of each layer has
    length 1 before it is averaged. The average without layer 0 is the mean of a biLM's LSTM layers.
    """
    rows: dict[str, Mix] = {f"layer {number}": itemgetter(number) for number in range(num_layers)}
    if num_layers > 1:
        rows[AVERAGE] = lambda layers: layers.mean(axis=0)
    if num_layers > 2:
        rows[UPPER_AVERAGE] = lambda layers: layers[1:].mean(axis=0)
    if num_layers > 1:
        rows[EQUAL_SIZE] = _equal_size
    return rows


def _equal_size(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "N E"]:
    total = unit_vectors(layers[0])
    for layer in layers[1:]:  # one at a time: a second copy of a whole corpus would not fit into memory
        total += unit_vectors(layer)
    return total / len(layers)


def disambiguate(
    layers: VectorSource, *, known: SenseCorpus, asked: SenseCorpus, inventory: Senses
) -> dict[str, dict[str, str]]:
    """Word senses by the nearest mean vector (section 5.3), without any training: answers for each layer and mix.

    The vectors of each sense's occurrences in `known` are averaged. An instance of `asked` gets the sense of its word
    whose mean is nearest by cosine. A word that `known` lacks gets its first sense in WordNet.
    """
    means = _sense_means(layers, known)
    of_corpus: dict[tuple[str, str], list[str]] = {}
    for key in dict.fromkeys(key for each in known.instances for key in each.senses):
        of_corpus.setdefault(word_of(key), []).append(key)
    answers: dict[str, dict[str, str]] = {row: {} for row in means}
    targets = [instance.target for instance in asked.instances]
    for indices, vectors in target_batches(layers, asked.sentences, targets):
        for row, mix in mixes(layers.num_layers).items():
            for index, vector in zip(indices, mix(vectors), strict=True):
                instance = asked.instances[index]
                candidates = dict.fromkeys((*inventory.get(instance.word, ()), *of_corpus.get(instance.word, ())))
                key = nearest_sense(vector, list(candidates), means[row])
                if key is not None:
                    answers[row][instance.name] = key
    return answers


def nearest_sense(
    vector: Float32[np.ndarray, " E"], senses: Sequence[str], means: Mapping[str, Float32[np.ndarray, " E"]]
) -> str | None:
    """The sense with the nearest mean, or the first of several equally near ones; without means, the first sense."""
    known = [key for key in senses if key in means]
    if not known:
        return senses[0] if senses else None
    nearness = unit_vectors(np.stack([means[key] for key in known])) @ unit_vectors(vector)
    return known[int((nearness >= nearness.max() - TIE).argmax())]


def first_senses(asked: SenseCorpus, inventory: Senses) -> dict[str, str]:
    """WordNet's first sense of each instance: the line that every system is compared with."""
    return {each.name: inventory[each.word][0] for each in asked.instances if each.word in inventory}


def _sense_means(layers: VectorSource, corpus: SenseCorpus) -> dict[str, dict[str, Float32[np.ndarray, " E"]]]:
    """For each layer and mix, the mean vector of each sense key."""
    names = list(dict.fromkeys(key for each in corpus.instances for key in each.senses))
    numbers = {key: number for number, key in enumerate(names)}
    senses: list[Sequence[int]] = [[numbers[key] for key in each.senses] for each in corpus.instances]
    rows = mixes(layers.num_layers)
    sums = {row: np.zeros((len(names), layers.dim), np.float32) for row in rows}
    counts = np.zeros((len(names), 1), np.float32)
    for indices, vectors in target_batches(layers, corpus.sentences, [each.target for each in corpus.instances]):
        places = [place for place, index in enumerate(indices) for _ in senses[index]]
        keys = [key for index in indices for key in senses[index]]
        np.add.at(counts, keys, 1)
        for row, mix in rows.items():
            np.add.at(sums[row], keys, mix(vectors)[places])
    return {row: dict(zip(names, total / counts, strict=True)) for row, total in sums.items()}


def neighbour_shares(
    layers: VectorSource, corpus: SenseCorpus
) -> dict[str, tuple[Shares, Shares, Int64[np.ndarray, " _"]]]:
    """How often the nearest other occurrence of a word by cosine has the same part of speech and sense (section 5.3).

    For each layer and mix: each occurrence that is judged has 1 if its nearest neighbour is alike, else 0. With ties,
    it has the share of nearest neighbours that are alike. Parts of speech are compared among all occurrences of a
    lemma, senses among its occurrences with the same part of speech. `chance` is a random other occurrence. An
    occurrence with several senses counts with the first.

    Occurrences of one sentence are not compared with each other. An occurrence is judged if another one, in another
    sentence, is like it, and one is not. The third array has the number of the lemma of each occurrence that is judged
    by its sense.
    """
    of_lemma: dict[str, list[Instance]] = {}
    for instance in corpus.instances:
        of_lemma.setdefault(instance.lemma, []).append(instance)
    groups = [group for group in of_lemma.values() if len({instance.senses[0] for instance in group}) > 1]
    targets = [instance.target for group in groups for instance in group]
    vectors = target_vectors(layers, corpus.sentences, targets)
    rows = mixes(layers.num_layers)
    found: dict[str, list[tuple[Shares, Shares, Int64[np.ndarray, " _"]]]] = {row: [] for row in (CHANCE, *rows)}
    start = 0
    for number, group in enumerate(groups):
        mine = vectors[:, start : start + len(group)]
        start += len(group)
        for row, of_row in found.items():
            blocks = _shares_in_blocks(group, None if row == CHANCE else unit_vectors(rows[row](mine)))
            of_row += [(pos, sense, np.full(len(sense), number)) for pos, sense in blocks]
    joined = {row: [np.concatenate(parts) for parts in zip(*of_row, strict=True)] for row, of_row in found.items()}
    return {row: (same_pos, same_sense, lemmas) for row, (same_pos, same_sense, lemmas) in joined.items()}


def _shares_in_blocks(
    instances: Sequence[Instance], unit: Float32[np.ndarray, "N E"] | None
) -> Iterator[tuple[Shares, Shares]]:
    """The shares of the occurrences of one lemma, block by block. Without vectors, the neighbour is a random one."""
    sentences = np.array([each.target.sentence for each in instances])
    pos = np.array([each.pos for each in instances])
    senses = np.array([f"{each.pos} {each.senses[0]}" for each in instances])
    for start in range(0, len(instances), QUERIES_PER_BLOCK):
        queries = slice(start, start + QUERIES_PER_BLOCK)
        nearness = None if unit is None else unit[queries] @ unit.T
        others = sentences[queries, None] != sentences
        same_pos = pos[queries, None] == pos
        same_sense = senses[queries, None] == senses
        yield _shares(nearness, same_pos, others), _shares(nearness, same_sense, others & same_pos)


def _shares(
    nearness: Float32[np.ndarray, "Q N"] | None, same: Bool[np.ndarray, "Q N"], allowed: Bool[np.ndarray, "Q N"]
) -> Float64[np.ndarray, " J"]:
    """Share of the nearest that are the same, for each query with both same and different ones among the allowed."""
    chosen = allowed
    if nearness is not None:
        within = np.where(allowed, nearness, -np.inf)
        chosen = allowed & (within >= within.max(axis=1, keepdims=True) - TIE)
    judged = (allowed & same).any(axis=1) & (allowed & ~same).any(axis=1)
    return (chosen & same)[judged].sum(axis=1) / chosen[judged].sum(axis=1)


def read_tagged(path: Path, *, column: str) -> list[TaggedWords]:
    """Sentences of CoNLL-U, with the tags of a column, or of WORD TAB TAG. Tokens get plain brackets and quotes."""
    found = [each for each in read_tagged_words(path, column=column) if each.tags]
    return [TaggedWords([plain_token(token) for token in each.tokens], each.tags) for each in found]


@dataclass(frozen=True)
class ProbeScore:
    """Accuracy in percent on development and test data, and for each test token whether it is right."""

    dev: float
    test: float
    hits: tuple[bool, ...]


def probe_tags(layers: VectorSource, parts: Sequence[Sequence[TaggedWords]]) -> dict[str, ProbeScore]:
    """How much each layer and mix knows about parts of speech: softmax regression on frozen vectors (Table 6).

    parts: training, development and test data. Keeps the weights of the epoch with the best development accuracy.
    A tag that is not in the training data counts as an error.
    """
    tags = {tag: number for number, tag in enumerate(sorted({tag for each in parts[0] for tag in each.tags}))}
    gold = [torch.tensor([tags.get(tag, -1) for each in part for tag in each.tags]) for part in parts]
    places = [[(number, at) for number, each in enumerate(part) for at in range(len(each.tokens))] for part in parts]
    vectors = [
        target_vectors(layers, [each.tokens for each in part], [Target(number, at, at + 1) for number, at in own])
        for part, own in zip(parts, places, strict=True)
    ]
    return {
        row: _probe([mix(of_part) for of_part in vectors], gold, num_tags=len(tags))
        for row, mix in mixes(layers.num_layers).items()
    }


def _probe(
    vectors: Sequence[Float32[np.ndarray, "_ E"]], gold: Sequence[Int[Tensor, " _"]], *, num_tags: int
) -> ProbeScore:
    mean, deviation = vectors[0].mean(axis=0), vectors[0].std(axis=0)
    train, dev, test = (torch.from_numpy((part - mean) / np.where(deviation > 0, deviation, 1)) for part in vectors)
    randomness = torch.Generator().manual_seed(0)
    classifier = nn.Linear(train.shape[1], num_tags)
    nn.init.zeros_(classifier.weight)
    nn.init.zeros_(classifier.bias)
    optimizer = torch.optim.Adam(classifier.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=NUM_EPOCHS)
    best = ProbeScore(-1.0, 0.0, ())
    for _ in range(NUM_EPOCHS):
        order = torch.randperm(len(train), generator=randomness)
        for chosen in cast("tuple[Tensor, ...]", order.split(BATCH_SIZE)):
            optimizer.zero_grad()
            nn.functional.cross_entropy(classifier(train[chosen]), gold[0][chosen]).backward()
            optimizer.step()
        schedule.step()
        dev_score = 100 * _hits(classifier, dev, gold[1]).float().mean().item()
        if dev_score > best.dev:
            hits = _hits(classifier, test, gold[2])
            best = ProbeScore(dev_score, 100 * hits.float().mean().item(), tuple(cast("list[bool]", hits.tolist())))
    return best


@torch.no_grad()
def _hits(classifier: nn.Linear, vectors: Float[Tensor, "N E"], gold: Int[Tensor, " N"]) -> Tensor:
    return classifier(vectors).argmax(dim=1) == gold


MEASURED: dict[str, Callable[[Request], None]] = {
    "table4": _neighbours,
    "table5": _senses_by_nearest_mean,
    "senses-supervised": _senses_by_training,
    "table6": partial(_tags, table="table6"),
    "table6-ko": partial(_tags, table="table6-ko"),
    "perplexity": _held_out,
    "table7": _finetuned,
    "latin": _latin,
}
"""The tables that are measured here, by name."""
