"""The tables and figures that are reproduced, by name. A module is imported when its name is asked for."""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elmokit.reproduce.reproduction import Reproduction

REPRODUCTIONS = {
    "table1": "elmokit.reproduce.table1",
    "table2": "elmokit.reproduce.table2",
    "table3": "elmokit.reproduce.table3",
    "table4": "elmokit.reproduce.table4",
    "table5": "elmokit.reproduce.table5",
    "senses-supervised": "elmokit.reproduce.senses_supervised",
    "table6": "elmokit.reproduce.table6",
    "table7": "elmokit.reproduce.table7",
    "figure1": "elmokit.reproduce.figure1",
    "figure2": "elmokit.reproduce.figure2",
    "gamma": "elmokit.reproduce.gamma",
    "layernorm": "elmokit.reproduce.layer_norm",
    "dropout": "elmokit.reproduce.dropout",
    "blimp": "elmokit.reproduce.blimp",
    "reading-times": "elmokit.reproduce.reading_times",
    "polysemy-ko": "elmokit.reproduce.polysemy_ko",
    "wic": "elmokit.reproduce.wic",
    "kobest": "elmokit.reproduce.kobest",
}
"""Name -> the module that defines it as `REPRODUCTION`."""


def find_reproduction(name: str) -> Reproduction:
    """Import the reproduction of that name. Raises ValueError, suggesting the nearest name, if there is none."""
    if name not in REPRODUCTIONS:
        near = difflib.get_close_matches(name, REPRODUCTIONS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"no reproduction {name!r}; {hint}expected one of {', '.join(REPRODUCTIONS)}")
    return importlib.import_module(REPRODUCTIONS[name]).REPRODUCTION
