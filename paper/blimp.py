"""BLiMP: 67 paradigms of 1,000 English minimal pairs, judged by both directions (Warstadt et al., 2020, TACL 8).

The paper gives each sentence the probability of a forward language model. A backward model gives another probability of
the same sentence; `both` adds the two logarithms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from elmokit.elmo.elmo import Elmo
from elmokit.files.lines import read_lines
from elmokit.formats.names import DEFAULT_MODEL, model_name, with_fingerprint
from elmokit.metrics.score import Accuracy
from elmokit.metrics.statistics import Statistic
from elmokit.scoring.minimal_pairs import Sentences, accuracies, score_pairs
from elmokit.system.progress_bar import progress_bar
from elmokit.text.corpora.cells import json_lines
from elmokit.text.tokenizer import tokenize
from paper.data_folders import data_folder, not_empty
from paper.printed import BLIMP
from paper.reproduction import OurRow, OurTable, Reproduction, Request
from paper.results import append_result, read_results
from paper.runs import Evidence

NAME = "blimp"
PAPERS_TERMS = {"s-selection": "argument_structure"}
"""Phenomena of files that table 3 of the paper, which has twelve, counts as another one."""


def read_paradigm(path: Path) -> tuple[str, list[Sentences]]:
    """The phenomenon that a file of JSON lines is about, such as `island_effects`, and its minimal pairs.

    Raises FormatError, naming file and line, for what is not a file of BLiMP.
    """
    term, pairs = "", list[Sentences]()
    for fields in json_lines(read_lines(path), name=str(path)):
        term = fields.text("linguistics_term")
        pairs.append((tokenize(fields.text("sentence_good")), tokenize(fields.text("sentence_bad"))))
    return term, not_empty(path, pairs)


def compute(request: Request) -> None:
    """Score every paradigm that the results of a model do not have; a record of results is written for each.

    Raises FileNotFoundError if the data are not there.
    """
    folder = data_folder(request.data_dir, "external/blimp", "data")
    paradigms = {file.stem: read_paradigm(file) for file in sorted(folder.glob("*.jsonl"))}
    found = read_results([request.results_dir], NAME)
    done = {(one.text("fingerprint"), one.text("paradigm"), one.integer("num_pairs")) for one in found}
    for elmo in map(Elmo.from_pretrained, request.models or (DEFAULT_MODEL,)):
        fingerprint, reader = elmo.fingerprint(), elmo.surprisal_model()
        lacking = [name for name, (_, pairs) in paradigms.items() if (fingerprint, name, len(pairs)) not in done]
        with progress_bar(unit="paradigm", total=len(lacking)) as bar:
            for name in lacking:
                term, pairs = paradigms[name]
                right = accuracies(list(score_pairs(reader, pairs)))
                record = {
                    "model": model_name(str(elmo.name)),
                    "fingerprint": fingerprint,
                    "paradigm": name,
                    "term": term,
                    "num_pairs": len(pairs),
                    "right": {direction: accuracy.correct for direction, accuracy in right.items()},
                }
                append_result(request.results_dir, NAME, record)
                bar.update()


def right_answers(paths: Sequence[Path]) -> dict[str, dict[str, dict[str, Accuracy]]]:
    """By model and paradigm, how many pairs each direction has right. Raises ValueError for other records."""
    found: dict[str, dict[str, dict[str, Accuracy]]] = {}
    for fields in read_results(paths, NAME):
        right = fields.fields("right")
        total = fields.integer("num_pairs", least=1)
        model = with_fingerprint(fields.text("model"), fields.text("fingerprint"))
        term = PAPERS_TERMS.get(fields.text("term"), fields.text("term"))
        counts = {name: Accuracy(right.integer(name, most=total), total) for name in right.names}
        found.setdefault(model, {})[f"{term}: {fields.text('paradigm')}"] = counts
    return found


def our_rows(evidence: Evidence) -> list[OurRow]:
    """A row for each model and direction: the accuracy over all pairs."""
    rows: list[OurRow] = []
    for model, paradigms in right_answers(evidence.results).items():
        for direction, accuracy in _sums(paradigms.values()).items():
            measured = f"{len(paradigms)} paradigms, {accuracy.total:,} pairs"
            rows.append(OurRow(f"{model}, {direction}", measured, (Statistic((accuracy.percent,)),)))
    return rows


def our_tables(evidence: Evidence) -> list[OurTable]:
    """For each model, accuracy by phenomenon."""
    tables: list[OurTable] = []
    for model, paradigms in right_answers(evidence.results).items():
        groups: dict[str, list[dict[str, Accuracy]]] = {}
        for name, counts in sorted(paradigms.items()):
            groups.setdefault(name.partition(":")[0], []).append(counts)
        rows = {
            term: tuple(Statistic((one.percent,)) for one in _sums(group).values()) for term, group in groups.items()
        }
        columns = tuple(_sums(paradigms.values()))
        tables.append(OurTable(f"{model} by phenomena", "Accuracy in percent.", columns, rows))
    return tables


def _sums(paradigms: Collection[dict[str, Accuracy]]) -> dict[str, Accuracy]:
    """Accuracy over all pairs, by direction."""
    directions = next(iter(paradigms))
    return {name: sum((counts[name] for counts in paradigms), Accuracy()) for name in directions}


REPRODUCTION = Reproduction(NAME, BLIMP, our_rows, our_tables, compute)
