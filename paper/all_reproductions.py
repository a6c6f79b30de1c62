"""The tables and figures that are reproduced, by name. A module is imported when its name is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from elmokit.system.messages import find_named

if TYPE_CHECKING:
    from paper.reproduction import Reproduction

REPRODUCTIONS = {
    "table1": "paper.table1",
    "table2": "paper.table2",
    "table3": "paper.table3",
    "table4": "paper.table4",
    "table5": "paper.table5",
    "senses-supervised": "paper.senses_supervised",
    "table6": "paper.table6",
    "table7": "paper.table7",
    "figure1": "paper.figure1",
    "figure2": "paper.figure2",
    "gamma": "paper.gamma",
    "layernorm": "paper.layer_norm",
    "dropout": "paper.dropout",
    "blimp": "paper.blimp",
    "reading-times": "paper.reading_times_table",
    "polysemy-ko": "paper.polysemy_ko",
    "wic": "paper.wic",
    "kobest": "paper.kobest",
}
"""Name -> the module that defines it as `REPRODUCTION`."""


def find_reproduction(name: str) -> Reproduction:
    """Import the reproduction of that name. Raises ValueError, suggesting the nearest name, if there is none."""
    return importlib.import_module(find_named(REPRODUCTIONS, name, what="reproduction")).REPRODUCTION
