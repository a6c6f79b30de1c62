"""KB-WiC of KoBEST: Korean words in context, by the cosine of their vectors; the part that word vectors can do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from paper.data_folders import data_folder
from paper.probes.word_in_context import read_kobest_wic
from paper.published import KOBEST_WIC
from paper.reproduction import Reproduction
from paper.system_results import measure_systems
from paper.wic import described, measure_pairs, pair_details, pair_rows

if TYPE_CHECKING:
    from pathlib import Path

    from paper.reproduction import Request

NAME = "kobest"


def compute(request: Request) -> list[Path]:
    """Score each system on the pairs of KB-WiC, tokenised as the Korean model was trained."""
    folder = data_folder(request.data_dir, "external/kobest", "v1.0", "WiC")
    parts = [read_kobest_wic(folder / f"{part}.tsv") for part in ("train", "dev", "test")]
    return measure_systems(
        NAME,
        request,
        partial(measure_pairs, parts=parts),
        default=("mini-ko", "random:mini-ko"),
        data=described(parts),
    )


REPRODUCTION = Reproduction(
    name=NAME,
    paper=KOBEST_WIC,
    reads="results of `python -m paper kobest`",
    measure=partial(pair_rows, name=NAME),
    details=partial(pair_details, name=NAME),
    compute=compute,
)
