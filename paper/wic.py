"""Word in Context, English and Korean: the cosine of a word's vectors in two sentences, with a threshold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.metrics.statistics import Statistic
from paper.data_folders import data_folder, glove_file
from paper.probes.layer_mixes import AVERAGE, EQUAL_SIZE, UPPER_AVERAGE
from paper.probes.word_in_context import read_kobest_wic, read_wic, score_wic
from paper.published import KOBEST_WIC, WIC
from paper.reproduction import OurRow, Reproduction
from paper.system_results import (
    Measured,
    details_table,
    differences_table,
    measure_systems,
    read_system_results,
)

if TYPE_CHECKING:
    from paper.printed import PaperTable
    from paper.probes.word_in_context import Pair
    from paper.reproduction import OurTable, Request
    from paper.runs import Evidence
    from paper.systems import System

PARTS = ("train", "dev", "test")
PAIRS_OF_ROWS = (("layer 1", "layer 2"), (AVERAGE, "layer 2"), (UPPER_AVERAGE, "layer 2"), (EQUAL_SIZE, "layer 2"))


def compute_wic(request: Request) -> list[Path]:
    """Score each system on the pairs of WiC."""
    folder = data_folder(request.data_dir, "external/wic", "HW2", "WiC_dataset")
    parts = [read_wic(folder / part / f"{part}.data.txt", folder / part / f"{part}.gold.txt") for part in PARTS]
    default = ("mini-en", "random:mini-en", f"static:{glove_file(request.data_dir)}")
    return _compute("wic", request, parts, default=default)


def compute_kobest(request: Request) -> list[Path]:
    """Score each system on the pairs of KB-WiC, tokenised as the Korean model was trained."""
    folder = data_folder(request.data_dir, "external/kobest", "v1.0", "WiC")
    parts = [read_kobest_wic(folder / f"{part}.tsv") for part in PARTS]
    return _compute("kobest", request, parts, default=("mini-ko", "random:mini-ko"))


def _compute(name: str, request: Request, parts: Sequence[Sequence[Pair]], *, default: Sequence[str]) -> list[Path]:
    data = " / ".join(f"{len(part):,}" for part in parts) + " pairs"
    return measure_systems(name, request, partial(measure_pairs, parts=parts), default=default, data=data)


def measure_pairs(system: System, *, parts: Sequence[Sequence[Pair]]) -> Measured:
    """Accuracies and test hits of one system."""
    found = score_wic(system.layers, train=parts[0], dev=parts[1], test=parts[2])
    return Measured(
        {row: {"train": each.train, "dev": each.dev, "test": each.test} for row, each in found.items()},
        {row: "".join("1" if hit else "0" for hit in each.hits) for row, each in found.items()},
    )


def pair_rows(evidence: Evidence, name: str) -> list[OurRow]:
    """One row for each layer or mix of each system: accuracy on the test set."""
    return [
        OurRow(row, result.label, (Statistic((numbers["test"],)),), is_extra=True)
        for result in read_system_results(evidence.results, name)
        for row, numbers in result.measured.rows.items()
    ]


def pair_details(evidence: Evidence, name: str) -> list[OurTable]:
    """Accuracies on all parts, and how the top layer compares with the others."""
    results = read_system_results(evidence.results, name)
    about = "Accuracy in percent. The threshold on the cosine is the best one for the training pairs."
    return [
        details_table(results, title="By part", about=about),
        differences_table(results, PAIRS_OF_ROWS, about="Test set, in points."),
    ]


def _reproduction(name: str, paper: PaperTable, compute: Callable[[Request], list[Path]]) -> Reproduction:
    return Reproduction(
        name=name,
        paper=paper,
        measure=partial(pair_rows, name=name),
        details=partial(pair_details, name=name),
        compute=compute,
    )


REPRODUCTION = _reproduction("wic", WIC, compute_wic)
KOBEST_REPRODUCTION = _reproduction("kobest", KOBEST_WIC, compute_kobest)
