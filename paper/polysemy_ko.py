"""Korean words with several senses: homonyms in Wikipedia, our list, and 잘한다 in praise and in sarcasm.

Each is judged by the nearest other occurrence: in the training half of the homonyms, otherwise among all others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from elmokit.analysis.polysemes import LISTS, Occurrence, read_polysemes
from elmokit.analysis.polysemy import chance, context_bags, nearest_hits
from elmokit.metrics.statistics import Statistic
from paper.data_folders import data_folder
from paper.homonyms import of_one_form, read_examples, read_homonyms
from paper.printed import POLYSEMY_KO
from paper.probes.targets import mixes, sentence_vectors
from paper.reproduction import OurRow, Reproduction, Request
from paper.runs import Evidence
from paper.system_results import Measured, measure_systems, read_system_results
from paper.systems import KOREAN_SYSTEMS, System

NAME = "polysemy-ko"
PRAISE = "잘한다"
"""Does well: praise, or sarcasm."""
BAG = "bag of context words"
COUNTS = "occurrences that are judged"


def compute(request: Request) -> list[Path]:
    """Find the nearest occurrences with each system."""
    folder = data_folder(request.data_dir, "ko/tasks/homonym_ko")
    train, test = read_homonyms(folder / "train.jsonl"), read_homonyms(folder / "test.jsonl")
    known, asked = of_one_form(train, test)
    praise = [each for each in read_examples(folder / "demo_seed_examples.tsv") if each.word == PRAISE]
    tests: dict[str, tuple[list[Occurrence], int | None]] = {
        "homonyms": ([*train, *test], len(train)),
        "homonyms, same form": ([*known, *asked], len(known)),
        "list": (read_polysemes(LISTS["ko"]), None),
        PRAISE: (praise, None),
    }
    return measure_systems(
        NAME,
        request,
        lambda system: _measure(system, tests),
        default=KOREAN_SYSTEMS,
        data=", ".join(f"{name}: {len(all_) - (num_known or 0):,}" for name, (all_, num_known) in tests.items()),
    )


def _measure(system: System, tests: Mapping[str, tuple[list[Occurrence], int | None]]) -> Measured:
    rows: dict[str, dict[str, float]] = {}
    for name, (occurrences, num_known) in tests.items():
        for row, hits in _hits(system, occurrences, num_known).items():
            rows.setdefault(row, {})[name] = 100 * float(hits.mean())
    return Measured(rows)


def _hits(system: System, occurrences: Sequence[Occurrence], num_known: int | None) -> dict[str, np.ndarray]:
    """For each occurrence that is judged, whether its nearest neighbour has its sense; by layer, mix and baseline."""
    encoded = sentence_vectors(system.layers, [each.tokens for each in occurrences])
    targets = np.stack([array[:, each.index] for array, each in zip(encoded, occurrences, strict=True)], axis=1)
    vectors = {row: mix(targets).astype(np.float64) for row, mix in mixes(system.layers.num_layers).items()}
    vectors[BAG] = context_bags(encoded, occurrences)
    hits = {row: nearest_hits(each, occurrences, num_known=num_known) for row, each in vectors.items()}
    return {"chance": chance(occurrences, num_known=num_known).nearest, **hits}


def our_rows(evidence: Evidence) -> list[OurRow]:
    """One row for each layer, mix and baseline of each system, and one that says of how many occurrences."""
    results = read_system_results(evidence.results, NAME)
    counts = [
        OurRow(COUNTS, "data", tuple(_count(name, data) for name in POLYSEMY_KO.columns), is_extra=True)
        for data in dict.fromkeys(result.data for result in results)
    ]
    return counts + [
        OurRow(row, result.label, tuple(Statistic((numbers[name],)) for name in POLYSEMY_KO.columns), is_extra=True)
        for result in results
        for row, numbers in result.measured.rows.items()
    ]


def _count(name: str, data: str) -> str | None:
    """The count that `compute` has written for a test, with its comma: `homonyms: 1,295, list: 184`."""
    found = re.search(rf"(?:^|, ){re.escape(name)}: (\d{{1,3}}(?:,\d{{3}})*)", data)
    return found[1] if found else None


REPRODUCTION = Reproduction(NAME, POLYSEMY_KO, our_rows, compute=compute)
