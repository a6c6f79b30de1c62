"""Korean words with several senses: homonyms in Wikipedia, our list, and 잘한다 in praise and in sarcasm.

Each is judged by the nearest other occurrence: in the training half of the homonyms, otherwise among all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from elmokit.analysis.polysemes import LISTS, Occurrence, read_polysemes, senses_of, words_of
from elmokit.analysis.polysemy import chance, context_bags, nearest_hits, occurrence_vectors
from elmokit.files.lines import read_lines, split_tokens
from elmokit.text.corpora.cells import json_lines
from elmokit.text.corpora.tables import table_rows
from paper.data_folders import data_folder, not_empty
from paper.printed import POLYSEMY_KO
from paper.probes.targets import mixes, sentence_vectors
from paper.reproduction import OurRow, Reproduction, Request
from paper.runs import Evidence
from paper.systems import KOREAN_SYSTEMS, Measured, System, measure_systems, read_system_results

NAME = "polysemy-ko"
PRAISE = "잘한다"
"""Does well: praise, or sarcasm."""
BAG = "bag of context words"
COUNTS = "occurrences that are judged"


def compute(request: Request) -> None:
    """Find the nearest occurrences with each system."""
    folder = data_folder(request.data_dir, "ko/tasks/homonym_ko")
    train, test = read_homonyms(folder / "train.jsonl"), read_homonyms(folder / "test.jsonl")
    known, asked = of_one_form(train, test)
    examples = folder / "demo_seed_examples.tsv"
    praise = not_empty(examples, [each for each in read_examples(examples) if each.word == PRAISE])
    tests: dict[str, tuple[list[Occurrence], int | None]] = {
        "homonyms": ([*train, *test], len(train)),
        "homonyms, same form": ([*known, *not_empty(folder / "test.jsonl", asked)], len(known)),
        "list": (read_polysemes(LISTS["ko"]), None),
        PRAISE: (praise, None),
    }
    measure_systems(
        NAME,
        request,
        lambda system: _measure(system, tests),
        default=KOREAN_SYSTEMS,
        data=", ".join(f"{name}: {len(all_) - (num_known or 0):,}" for name, (all_, num_known) in tests.items()),
    )


def _measure(system: System, tests: Mapping[str, tuple[list[Occurrence], int | None]]) -> Measured:
    """The share of judged occurrences whose nearest neighbour has their sense, by layer, mix and baseline."""
    rows: dict[str, dict[str, float]] = {}
    for name, (occurrences, num_known) in tests.items():
        encoded = sentence_vectors(system.layers, [each.tokens for each in occurrences])
        targets = occurrence_vectors(encoded, occurrences)
        vectors = {row: mix(targets) for row, mix in mixes(system.layers.num_layers).items()}
        vectors[BAG] = context_bags(encoded, occurrences)
        hits = {"chance": chance(occurrences, num_known=num_known).nearest}
        hits |= {row: nearest_hits(each, occurrences, num_known=num_known) for row, each in vectors.items()}
        for row, of_row in hits.items():
            rows.setdefault(row, {})[name] = 100 * float(of_row.mean())
    return Measured(rows)


def our_rows(evidence: Evidence) -> list[OurRow]:
    """One row for each layer, mix and baseline of each system, and one that says of how many occurrences."""
    results = read_system_results(evidence.results, NAME)
    counts = [
        OurRow(COUNTS, "data", tuple(re.findall(r"\d+(?:,\d{3})*", data)))
        for data in dict.fromkeys(result.data for result in results)
    ]
    return counts + [
        OurRow(row, result.label, tuple(result.cell(row, name) for name in POLYSEMY_KO.columns))
        for result in results
        for row in result.measured.rows
    ]


def read_homonyms(path: Path) -> list[Occurrence]:
    """The occurrences in a file of JSON lines: word (the noun without its particle), sense, index, tokens.

    The token at `index` is the noun with its particle, so the forms of a word differ, and a static vector can tell
    some senses apart. Raises ValueError, naming the line, for a field that is missing.
    """
    lines = list(read_lines(path))  # to its end, so that the file is closed when a line is refused
    return [
        Occurrence(
            fields.text("word"),
            "noun/noun",
            fields.text("sense"),
            fields.integer("index"),
            tuple(fields.tokens("tokens")),
        )
        for fields in json_lines(lines, name=str(path))
    ]


def read_examples(path: Path) -> list[Occurrence]:
    """The occurrences in a table with the columns word, sense, index and tokens (separated by spaces)."""
    rows = table_rows(read_lines(path), name=str(path), columns=[["word"], ["sense"], ["index"], ["tokens"]])
    return [
        Occurrence(word, "pragmatic", sense, int(index), tuple(split_tokens(text)))
        for _, (word, sense, index, text) in rows
    ]


def of_one_form(train: Sequence[Occurrence], test: Sequence[Occurrence]) -> tuple[list[Occurrence], list[Occurrence]]:
    """Both halves with `word` set to the form with its particle, so that particles give nothing away.

    Test occurrences are left out if the train half does not have their form in the same sense and in another one.
    """
    known, asked = ([replace(each, word=each.tokens[each.index]) for each in half] for half in (train, test))
    senses = {form: set(senses_of(form, known)) for form in words_of(asked)}
    return known, [each for each in asked if each.sense in senses[each.word] and len(senses[each.word]) > 1]


REPRODUCTION = Reproduction(NAME, POLYSEMY_KO, our_rows, compute=compute)
