"""Word in Context: the cosine of a word's vectors in two sentences, with a threshold from the training pairs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from elmokit.metrics.statistic import Statistic
from paper.data_folders import data_folder, glove_file
from paper.probes.layer_mixes import AVERAGE, EQUAL_SIZE, UPPER_AVERAGE
from paper.probes.word_in_context import read_wic, score_wic
from paper.published import WIC
from paper.reproduction import OurRow, Reproduction
from paper.system_results import (
    Measured,
    details_table,
    differences_table,
    measure_systems,
    read_system_results,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from paper.probes.word_in_context import Pair
    from paper.reproduction import OurTable, Request
    from paper.systems import System

NAME = "wic"
PAIRS_OF_ROWS = (("layer 1", "layer 2"), (AVERAGE, "layer 2"), (UPPER_AVERAGE, "layer 2"), (EQUAL_SIZE, "layer 2"))


def compute(request: Request) -> list[Path]:
    """Score each system on the pairs of WiC."""
    folder = data_folder(request.data_dir, "external/wic", "HW2", "WiC_dataset")
    parts = [
        read_wic(folder / part / f"{part}.data.txt", folder / part / f"{part}.gold.txt")
        for part in ("train", "dev", "test")
    ]
    return measure_systems(
        NAME,
        request,
        partial(measure_pairs, parts=parts),
        default=("mini-en", "random:mini-en", f"static:{glove_file(request.data_dir)}"),
        data=described(parts),
    )


def described(parts: Sequence[Sequence[Pair]]) -> str:
    """The counts of training, development and test pairs."""
    return " / ".join(f"{len(part):,}" for part in parts) + " pairs"


def measure_pairs(system: System, *, parts: Sequence[Sequence[Pair]]) -> Measured:
    """Accuracies and test hits of one system."""
    found = score_wic(system.layers, train=parts[0], dev=parts[1], test=parts[2])
    return Measured(
        {row: {"train": each.train, "dev": each.dev, "test": each.test} for row, each in found.items()},
        {row: "".join("1" if hit else "0" for hit in each.hits) for row, each in found.items()},
    )


def pair_rows(paths: Sequence[Path], name: str) -> list[OurRow]:
    """One row for each layer or mix of each system: accuracy on the test set."""
    return [
        OurRow(row, result.label, (Statistic((numbers["test"],)),), is_extra=True)
        for result in read_system_results(paths, name)
        for row, numbers in result.measured.rows.items()
    ]


def pair_details(paths: Sequence[Path], name: str) -> list[OurTable]:
    """Accuracies on all parts, and how the top layer compares with the others."""
    results = read_system_results(paths, name)
    about = "Accuracy in percent. The threshold on the cosine is the best one for the training pairs."
    return [
        details_table(results, title="By part", about=about),
        differences_table(results, PAIRS_OF_ROWS, about="Test set, in points."),
    ]


REPRODUCTION = Reproduction(
    name=NAME,
    paper=WIC,
    reads="results of `python -m paper wic`",
    measure=partial(pair_rows, name=NAME),
    details=partial(pair_details, name=NAME),
    compute=compute,
)
