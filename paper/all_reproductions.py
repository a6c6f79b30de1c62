"""The tables and figures that are reproduced, by name. A module is imported when its name is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from elmokit.system.messages import find_named

if TYPE_CHECKING:
    from paper.reproduction import Reproduction

REPRODUCTIONS = {
    "table1": "table1.REPRODUCTION",
    "table2": "table2.REPRODUCTION",
    "table3": "table3.REPRODUCTION",
    "table4": "table4.REPRODUCTION",
    "table5": "table5.REPRODUCTION",
    "senses-supervised": "senses_supervised.REPRODUCTION",
    "table6": "table6.REPRODUCTION",
    "table6-ko": "table6.KOREAN_REPRODUCTION",
    "table7": "table7.REPRODUCTION",
    "figure1": "figure1.REPRODUCTION",
    "figure2": "figure2.REPRODUCTION",
    "gamma": "ablations.GAMMA_REPRODUCTION",
    "layernorm": "ablations.LAYER_NORM_REPRODUCTION",
    "dropout": "ablations.DROPOUT_REPRODUCTION",
    "blimp": "blimp.REPRODUCTION",
    "reading-times": "reading_times_table.REPRODUCTION",
    "polysemy-ko": "polysemy_ko.REPRODUCTION",
    "wic": "wic.REPRODUCTION",
    "kobest": "wic.KOBEST_REPRODUCTION",
    "korean-tasks": "ablations.KOREAN_REPRODUCTION",
}
"""Name -> the module in this folder, and its name there."""


def find_reproduction(name: str) -> Reproduction:
    """Import the reproduction of that name. Raises ValueError, suggesting the nearest name, if there is none."""
    module, attribute = find_named(REPRODUCTIONS, name, what="reproduction").split(".")
    return getattr(importlib.import_module(f"paper.{module}"), attribute)
