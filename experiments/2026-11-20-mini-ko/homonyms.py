"""How often a Korean model tells the senses of homonym_ko apart, overall and by word, compared with baselines.

    PYTHONPATH=. python experiments/2026-11-20-mini-ko/homonyms.py MODEL FOLDER

FOLDER contains train.jsonl and test.jsonl of the task. Their senses were assigned by collocation patterns, which
favours the bag of context words. Forms differ by particle, and particles give some senses away, even to a static
vector; so the rates are also given for occurrences of the same form.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit import Elmo
from elmokit.analysis.polysemes import senses_of, words_of
from paper.homonyms import as_record, measure_homonyms, of_one_form, read_homonyms

if TYPE_CHECKING:
    from elmokit.analysis.polysemy import Rate

Record = dict[str, dict[str, float]]


def main(model: str, folder: Path) -> dict[str, Record | dict[str, Record]]:
    """Print the tables, and return the rates in the form that measurements.json stores for the demo."""
    train, test = (read_homonyms(folder / f"{half}.jsonl") for half in ("train", "test"))
    elmo = Elmo.from_pretrained(model)
    measured = measure_homonyms(elmo, train, test)
    overall = {vectors.name: vectors.nearest_rate() for vectors in measured}
    _show(f"{model}: {len(test):,} occurrences, each judged by the nearest of {len(train):,} others", overall)
    same_form = {vectors.name: vectors.nearest_rate() for vectors in measure_homonyms(elmo, *of_one_form(train, test))}
    _show("Of the same form, particle included", same_form)
    words: dict[str, Record] = {}
    for word in words_of(test):
        chosen = [index for index, occurrence in enumerate(test) if occurrence.word == word]
        rates = {vectors.name: vectors.nearest_rate(chosen) for vectors in measured}
        _show(f"{word} ({', '.join(senses_of(word, test))})", rates)
        words[word] = as_record(rates)
    return {
        "homonym_ko": as_record(overall),
        "homonym_ko_same_form": as_record(same_form),
        "homonym_ko_words": words,
    }


def _show(title: str, rates: dict[str, Rate]) -> None:
    print(f"{title}\n")
    for name, rate in rates.items():
        print(f"  {name:22}{rate}")
    print()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
