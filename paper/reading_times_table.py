"""Reading times of Natural Stories: what the surprisals of a biLM add to position, length and frequency."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.elmo.elmo import Elmo
from elmokit.formats.model_name import model_name, with_fingerprint
from elmokit.formats.names import DEFAULT_MODEL
from paper.data_folders import data_folder
from paper.probes.reading_times import RATES, AddedLikelihood, added_likelihood, read_words, score_words
from paper.published import READING_TIMES
from paper.reproduction import OurRow, Reproduction
from paper.results import RESULTS_NAME, append_result, read_results

if TYPE_CHECKING:
    from paper.reproduction import Request
    from paper.runs import Evidence

NAME = "reading-times"


def compute(request: Request) -> list[Path]:
    """Measure each model that the results do not have. Raises FileNotFoundError if the data are not there."""
    words = read_words(data_folder(request.data_dir, "external/natural_stories", "ns"))
    done = {fields.text("fingerprint") for fields in read_results([request.results_dir], NAME)}
    for model in request.models or (DEFAULT_MODEL,):
        elmo = Elmo.from_pretrained(model)
        if elmo.fingerprint() in done:
            continue
        scored = score_words(elmo.surprisal_model(), words)
        ways = {name: ways for name, ways in RATES.items() if set(ways) <= scored[0].bits.keys()}
        added = {name: added_likelihood(scored, directions) for name, directions in ways.items()}
        record = {
            "model": model_name(elmo.name or "biLM"),
            "fingerprint": elmo.fingerprint(),
            "num_words": added["forward"].num_words,
            "added": {name: [each.mean, each.standard_error] for name, each in added.items()},
        }
        append_result(request.results_dir, NAME, record)
    return [request.results_dir / RESULTS_NAME]


def our_rows(evidence: Evidence) -> list[OurRow]:
    """A row for each model and direction."""
    rows: list[OurRow] = []
    for fields in read_results(evidence.results, NAME):
        model = with_fingerprint(fields.text("model"), fields.text("fingerprint"))
        num_words, added = fields.integer("num_words"), fields.fields("added")
        for direction in added.names:
            mean, error = added.numbers(direction, least=-math.inf)
            cell = str(AddedLikelihood(mean, error, num_words))
            rows.append(OurRow(f"{model}, {direction}", f"{num_words:,} words", (cell,), is_extra=True))
    return rows


REPRODUCTION = Reproduction(
    name=NAME,
    paper=READING_TIMES,
    measure=our_rows,
    compute=compute,
)
