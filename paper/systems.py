"""Systems that tables measure, what they reach in a test of their vectors, kept and read back, and tables of them."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from elmokit.elmo.elmo import Elmo
from elmokit.files.json_fields import Fields
from elmokit.formats.names import DEFAULT_MODEL, model_name, with_fingerprint
from elmokit.metrics.statistics import Interval, Statistic
from elmokit.model.vector_source import VectorSource
from elmokit.system.python import default_cache
from elmokit.vectors.cache import CachedActivations
from elmokit.vectors.file_vector_source import FileVectorSource
from paper.comparators.all_comparators import COMPARATORS, open_comparator
from paper.data_folders import glove_file
from paper.differences import over_items, paired_bootstrap
from paper.models import random_elmo
from paper.plan import RANDOM
from paper.printed import PaperTable
from paper.reproduction import Cell, OurRow, OurTable, Reproduction, Request
from paper.results import RESULTS_NAME, append_result, newest, read_interval, read_results
from paper.runs import Evidence

NO_SYSTEM = "without vectors"
"""What rows that need no vectors are recorded under: chance, WordNet's first sense."""
RANDOM_WEIGHTS = "random weights"
"""How the name of a biLM ends that was not trained."""
VECTOR_ENDINGS = (".npy", ".npz", ".h5", ".hdf5", ".safetensors")
KOREAN_SYSTEMS = ("mini-ko", "random:mini-ko")


def english_systems(data_dir: Path) -> tuple[str, ...]:
    """The systems that English tables measure if none are named."""
    return DEFAULT_MODEL, f"random:{DEFAULT_MODEL}", f"static:{glove_file(data_dir)}"


@dataclass(frozen=True)
class System:
    """Something that gives every token of a sentence a vector, or one for each layer."""

    name: str
    """Name in tables and results: `small-en`."""
    layers: VectorSource
    is_bilm: bool = False
    """Whether it is a biLM that has been trained."""

    @property
    def fingerprint(self) -> str:
        return self.layers.fingerprint()


def open_system(given: str, *, word_vectors: Path | None = None) -> System:
    """Open a system: a model, `random:MODEL`, a comparator (`static:FILE`, `cove:FOLDER`), or a file of vectors.

    `random:MODEL` has the sizes of the model and random weights. The activations of a model are cached on disk
    (`vectors/cache.py`), so that the tables share them.

    word_vectors: the word vectors of comparators that read some; others ignore them.
    Raises FileNotFoundError and ValueError for what cannot be opened.
    """
    kind, _, model = given.partition(":")
    if model and kind == RANDOM:
        config = Elmo.from_pretrained(model).config
        control = CachedActivations(random_elmo(config), folder=default_cache())
        return System(f"{model_name(model)}, {RANDOM_WEIGHTS}", control)
    if model and kind in COMPARATORS:
        name = Path(model).name.removesuffix(".gz").removesuffix(".xz").removesuffix(".txt")
        return System(f"{kind}, {name}", open_comparator(kind, model, word_vectors=word_vectors))
    if Path(given).suffix in VECTOR_ENDINGS:
        return System(Path(given).stem, FileVectorSource(given))
    layers = CachedActivations(Elmo.from_pretrained(given), folder=default_cache())
    return System(model_name(given), layers, is_bilm=True)


@dataclass(frozen=True)
class Measured:
    """Numbers of one system by row (a layer or a mix of layers) and name, all in percent."""

    rows: Mapping[str, Mapping[str, float]]
    hits: Mapping[str, str] = field(default_factory=dict[str, str])
    """For each row, a 1 for each test item that it has right and a 0 for each other, for paired comparisons."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """What cannot be counted, by name, such as the nearest context of a sentence."""
    gains: Mapping[str, Interval] = field(default_factory=dict[str, Interval])
    """Of tests without hits, the difference in points by its name (`gain_name`), with its interval."""


@dataclass(frozen=True)
class SystemResult:
    """What was measured of one system, and of which vectors."""

    system: str
    is_bilm: bool
    fingerprint: str
    """Of the vectors; empty without any."""
    data: str
    """The data, with their counts after a colon or a comma."""
    measured: Measured

    @property
    def label(self) -> str:
        """The system in tables, with the first digits of its fingerprint, since a name outlives its weights."""
        return with_fingerprint(self.system, self.fingerprint) if self.fingerprint else self.system

    def cell(self, row: str, name: str) -> Statistic | None:
        """A number in a table; None if it was not measured, as of data that are cut."""
        numbers = self.measured.rows[row]
        return Statistic((numbers[name],)) if name in numbers else None

    @property
    def corpus(self) -> str:
        """The data without their counts."""
        return self.data.partition(":")[0]


@dataclass(frozen=True)
class SystemTable:
    """A table of systems: how each is measured, and what is shown of it."""

    name: str
    paper: PaperTable
    compute: Callable[[Request], None]
    """Measures what the results lack, by `measure_systems`."""
    row: Callable[[SystemResult, str], OurRow | None]
    """A row (a layer or a mix of layers) of a result -> the table's row; None for what is only below the table."""
    about: str
    title: str = ""
    """Heading of all numbers; empty for a table of each corpus, which is named after it."""
    pairs: Sequence[tuple[str, str]] = ()
    """Rows whose difference is shown: the gain of the second over the first."""
    differences: str = ""

    def rows(self, evidence: Evidence) -> list[OurRow]:
        results = read_system_results(evidence.results, self.name)
        rows = (self.row(result, name) for result in results for name in result.measured.rows)
        return [row for row in rows if row is not None]

    def details(self, evidence: Evidence) -> list[OurTable]:
        """All numbers, and the differences with their intervals."""
        groups: dict[str, list[SystemResult]] = {}
        for result in read_system_results(evidence.results, self.name):
            groups.setdefault(self.title or result.data, []).append(result)
        return [table for results in groups.values() for table in self._tables(results)]

    def _tables(self, results: Sequence[SystemResult]) -> list[OurTable]:
        """All numbers of some results by row, and differences between rows of the same system."""
        rows = [(each, row) for each in results for row in each.measured.rows]
        columns = tuple(dict.fromkeys(name for each, row in rows for name in each.measured.rows[row]))
        cells = distinct_rows(
            (f"{each.label}, {row}", tuple(each.cell(row, name) for name in columns)) for each, row in rows
        )
        data = "; ".join(dict.fromkeys(each.data for each in results))
        all_numbers = OurTable(self.title or results[0].corpus, f"{self.about} Data: {data}.", columns, cells)
        if not self.pairs:
            return [all_numbers]
        gains = distinct_rows(
            (f"{each.label}: {gain_name(first, second)}", (str(over_items(found).interval()),))
            for each in results
            for first, second in self.pairs
            if (found := difference(each, first, second)) is not None
        )
        where = "" if self.title else f"{results[0].corpus}, "
        about = f"{where}{self.differences} Paired bootstrap over test items, 95 %."
        return [all_numbers, OurTable("Differences", about, ("points",), gains)]

    def reproduction(self) -> Reproduction:
        return Reproduction(self.name, self.paper, self.rows, self.details, self.compute)


def measure_systems(
    name: str,
    request: Request,
    measure: Callable[[Any], Measured],
    *,
    default: Sequence[str],
    data: str,
    opened: Callable[[str], Any] | None = None,
    without_vectors: Callable[[], Measured] | None = None,
) -> None:
    """Measure the systems of a request that its results lack, one record each.

    A system that was measured on the same data is known by its name and the fingerprint of its vectors.

    default: the systems to measure if the request has none.
    opened: makes a system of its name on the command line; None stands for `open_system`.
    without_vectors: rows that need no vectors.
    """
    found = read_system_results([request.results_dir / RESULTS_NAME], name)
    done = {(each.system, each.fingerprint) for each in found if each.data == data}

    def add(system: str, is_bilm: bool, fingerprint: str, measure: Callable[[], Measured]) -> None:
        if (system, fingerprint) not in done:
            known = {"system": system, "is_bilm": is_bilm, "fingerprint": fingerprint, "data": data}
            append_result(request.results_dir, name, {**known, **_timed(measure)})

    if without_vectors is not None:
        add(NO_SYSTEM, False, "", without_vectors)
    for given in request.models or default:
        system: Any = opened(given) if opened else open_system(given, word_vectors=request.word_vectors)
        add(system.name, system.is_bilm, system.fingerprint, partial(measure, system))


def read_system_results(paths: Sequence[Path], name: str) -> list[SystemResult]:
    """The results in files or folders of them, the newest of each system on the same data.

    Raises ValueError for records that `measure_systems` does not write.
    """
    return [_result(fields) for fields in newest(read_results(paths, name), "system", "fingerprint", "data")]


def as_hits(hits: Iterable[object]) -> str:
    """`Measured.hits` of a row."""
    return "".join("1" if hit else "0" for hit in hits)


def difference(result: SystemResult, first: str, second: str) -> Interval | None:
    """The gain of the second row over the first, in points, by paired bootstrap; None if one was not measured."""
    hits = result.measured.hits
    if first not in hits or second not in hits:
        return result.measured.gains.get(gain_name(first, second))
    return share_gain(*([float(hit) for hit in hits[row]] for row in (first, second)))


def distinct_rows(rows: Iterable[tuple[str, tuple[Cell, ...]]]) -> dict[str, tuple[Cell, ...]]:
    """The rows by their names; a name that is taken gets a number, so that no row is lost: `NER`, `NER (2)`."""
    distinct: dict[str, tuple[Cell, ...]] = {}
    for name, cells in rows:
        names = (name if number == 1 else f"{name} ({number})" for number in itertools.count(1))
        distinct[next(free for free in names if free not in distinct)] = cells
    return distinct


def gain_name(first: str, second: str) -> str:
    """The name of the gain of the second row over the first: `layer 2 over layer 1`."""
    return f"{second} over {first}"


def share_gain(first: Iterable[float], second: Iterable[float]) -> Interval:
    """The gain of a mean share over another, in points, by paired bootstrap over the items, which have shares."""
    left, right = ([(share, 1.0) for share in shares] for shares in (first, second))
    return paired_bootstrap([left], [right], score=lambda sums: 100 * sums[0] / sums[1])


def _timed(measure: Callable[[], Measured]) -> dict[str, object]:
    """What was measured, and its cost, as fields of a record."""
    wall, processor = time.perf_counter(), time.process_time()
    measured = measure()
    rows = measured.rows.items()
    return {
        "rows": {row: {name: round(number, 3) for name, number in numbers.items()} for row, numbers in rows},
        "hits": dict(measured.hits),
        "gains": {name: dataclasses.asdict(gain) for name, gain in measured.gains.items()},
        "texts": dict(measured.texts),
        "threads": torch.get_num_threads(),
        "seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
    }


def _result(record: Fields) -> SystemResult:
    gains = record.fields("gains") if "gains" in record else None  # earlier records have none
    hits = record.read("hits", dict[str, str])
    if others := {row for row, of_row in hits.items() if set(of_row) - {"0", "1"}}:
        raise record.error("hits", f"has something other than 0 and 1 in {', '.join(others)}")
    return SystemResult(
        system=record.text("system"),
        is_bilm=record.read("is_bilm", bool),
        fingerprint=record.text("fingerprint"),
        data=record.text("data"),
        measured=Measured(
            rows=record.read("rows", dict[str, dict[str, float]]),
            hits=hits,
            texts=record.read("texts", dict[str, str]),
            gains={name: read_interval(gains, name) for name in gains.names} if gains else {},
        ),
    )
