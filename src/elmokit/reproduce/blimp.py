"""BLiMP: 67 paradigms of 1,000 English minimal pairs, judged by both directions (Warstadt et al., 2020, TACL 8).

The paper gives each sentence the probability of a forward language model. A backward model gives another probability of
the same sentence; `both` adds the two logarithms.
"""

from __future__ import annotations

import platform
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from elmokit import __version__
from elmokit.metrics.score import Accuracy
from elmokit.metrics.statistic import Statistic
from elmokit.model.bundled import DEFAULT_MODEL, bundled_models
from elmokit.model.elmo import Elmo
from elmokit.reproduce.paper import PaperTable, Printed
from elmokit.reproduce.reproduction import OurRow, OurTable, Reproduction
from elmokit.runs.metrics_log import append_json_line, read_log
from elmokit.scoring.minimal_pairs import accuracies, score_pairs
from elmokit.system.json_fields import Fields, parse_json_object
from elmokit.system.progress import progress_bar
from elmokit.text.lines import read_lines
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from elmokit.reproduce.reproduction import Request
    from elmokit.scoring.minimal_pairs import Sentences

DATA = "external/blimp/blimp/data"
RESULTS = "results.jsonl"

PUBLISHED = PaperTable(
    name="BLiMP",
    section="4",
    source="Warstadt et al. (2020), table 3",
    about="Accuracy in percent on 67,000 minimal pairs: how often the acceptable sentence is the more probable one.",
    columns=("accuracy",),
    rows={
        "5-gram": (Printed("61.2"),),
        "LSTM": (Printed("69.8"),),
        "Transformer-XL": (Printed("69.6"),),
        "GPT-2": (Printed("83.0"),),
        "people": (Printed("88.6"),),
    },
    statements=(
        "The published models read text in one direction; the LSTM was trained on 83 million tokens of Wikipedia.",
        "A tie counts as wrong. Sentences are tokenised as the model's training text was.",
    ),
)


@dataclass(frozen=True)
class Paradigm:
    """A file of BLiMP."""

    name: str
    """Its UID: `adjunct_island`."""
    term: str
    """Phenomenon that it belongs to, one of twelve: `island_effects`."""
    pairs: list[Sentences]


@dataclass(frozen=True)
class ParadigmResult:
    """What a model scored on a paradigm."""

    model: str
    paradigm: str
    term: str
    accuracies: dict[str, Accuracy]
    """By direction: forward, and for a biLM also backward and both."""


def read_paradigm(path: Path) -> Paradigm:
    """Read a JSON lines file of BLiMP. Raises FormatError, naming file and line, for what is not one."""
    pairs: list[Sentences] = []
    name = term = ""
    for number, line in enumerate(read_lines(path), start=1):
        where = f"{path}, line {number}"
        fields = Fields(where, parse_json_object(line, where=where))
        name, term = fields.text("UID"), fields.text("linguistics_term")
        pairs.append((tokenize(fields.text("sentence_good")), tokenize(fields.text("sentence_bad"))))
    return Paradigm(name, term, pairs)


def compute(request: Request) -> list[Path]:
    """Score every paradigm that the results of a model do not have; a line of results is written for each.

    Raises FileNotFoundError if the data are not there.
    """
    files = sorted((request.data_dir / DATA).glob("*.jsonl"))
    if not files:
        raise FileNotFoundError(
            f"{request.data_dir / DATA}: there are no files of BLiMP (*.jsonl); see CONTRIBUTING.md"
        )
    results = request.results_dir / RESULTS
    for model in request.models or (DEFAULT_MODEL,):
        done = {(result.model, result.paradigm) for result in read_results([results])}
        missing = [file for file in files if (_name(model), file.stem) not in done]
        if missing:
            _score(model, missing, results)
    return [results]


def read_results(paths: Sequence[Path]) -> list[ParadigmResult]:
    """The results in these files; a file that does not exist has none."""
    found: list[ParadigmResult] = []
    for path in paths:
        for number, record in enumerate(read_log(path).records, start=1):
            fields = Fields(f"{path}, line {number}", record)
            right = fields.fields("right")
            total = fields.integer("num_pairs", least=1, most=1 << 31)
            counts = {name: Accuracy(right.integer(name, least=0, most=total), total) for name in right.names}
            found.append(ParadigmResult(fields.text("model"), fields.text("paradigm"), fields.text("term"), counts))
    return found


def our_rows(paths: Sequence[Path]) -> list[OurRow]:
    """A row for each model and direction: the accuracy over all pairs."""
    rows: list[OurRow] = []
    for model, results in _by(read_results(paths), lambda result: result.model).items():
        for direction, accuracy in _sums(results).items():
            measured = f"{len(results)} paradigms, {accuracy.total:,} pairs"
            rows.append(OurRow(f"{model}, {direction}", measured, (Statistic((accuracy.percent,)),), is_extra=True))
    return rows


def our_tables(paths: Sequence[Path]) -> list[OurTable]:
    """For each model, accuracy by phenomenon and by paradigm."""
    tables: list[OurTable] = []
    for model, results in _by(read_results(paths), lambda result: result.model).items():
        directions = tuple(_sums(results))
        for title, key in (("phenomena", _term), ("paradigms", _paradigm)):
            groups = sorted(_by(results, key).items())
            rows = {name: tuple(Statistic((one.percent,)) for one in _sums(group).values()) for name, group in groups}
            about = "Accuracy in percent."
            tables.append(OurTable(f"{model} by {title}", about, directions, rows))
    return tables


def _score(model: str, files: list[Path], results: Path) -> None:
    elmo = Elmo.from_pretrained(model)
    reader, fingerprint = elmo.surprisal_model(), elmo.fingerprint()
    with progress_bar(unit="paradigm", total=len(files)) as bar:
        for file in files:
            started = time.perf_counter()
            paradigm = read_paradigm(file)
            right = accuracies(list(score_pairs(reader, paradigm.pairs)))
            record = {
                "model": _name(model),
                "paradigm": paradigm.name,
                "term": paradigm.term,
                "num_pairs": len(paradigm.pairs),
                "right": {direction: accuracy.correct for direction, accuracy in right.items()},
                "fingerprint": fingerprint,
                "elmokit": __version__,
                "processor": platform.machine(),
                "seconds": round(time.perf_counter() - started, 1),
            }
            append_json_line(results, record)
            bar.update()


def _sums(results: Sequence[ParadigmResult]) -> dict[str, Accuracy]:
    """Accuracy over all pairs, by direction."""
    return {
        direction: sum((result.accuracies[direction] for result in results), Accuracy())
        for direction in results[0].accuracies
    }


def _by(results: Sequence[ParadigmResult], key: Callable[[ParadigmResult], str]) -> dict[str, list[ParadigmResult]]:
    groups: defaultdict[str, list[ParadigmResult]] = defaultdict(list)
    for result in results:
        groups[key(result)].append(result)
    return groups


def _term(result: ParadigmResult) -> str:
    return result.term


def _paradigm(result: ParadigmResult) -> str:
    return result.paradigm


def _name(model: str) -> str:
    return model if model in bundled_models() else model.rstrip("/").rpartition("/")[2]


REPRODUCTION = Reproduction(
    name="blimp",
    paper=PUBLISHED,
    reads="results of `elmokit reproduce blimp` (results.jsonl)",
    measure=our_rows,
    details=our_tables,
    compute=compute,
)
