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
from elmokit.analysis.polysemes import Occurrence, senses_of, words_of
from elmokit.analysis.polysemy import SenseRates, measure_senses
from paper.polysemy_ko import of_one_form, read_homonyms

if TYPE_CHECKING:
    from elmokit.analysis.polysemy import Rate


def main(model: str, folder: Path) -> None:
    train, test = (read_homonyms(folder / f"{half}.jsonl") for half in ("train", "test"))
    elmo = Elmo.from_pretrained(model)

    def measure(train: list[Occurrence], test: list[Occurrence]) -> list[SenseRates]:
        encoded = elmo.encode([each.tokens for each in (*train, *test)], layers="all")
        return measure_senses(encoded, [*train, *test], num_known=len(train))

    measured = measure(train, test)
    overall = {vectors.name: vectors.nearest_rate() for vectors in measured}
    _show(f"{model}: {len(test):,} occurrences, each judged by the nearest of {len(train):,} others", overall)
    same_form = {vectors.name: vectors.nearest_rate() for vectors in measure(*of_one_form(train, test))}
    _show("Of the same form, particle included", same_form)
    for word in words_of(test):
        chosen = [index for index, occurrence in enumerate(test) if occurrence.word == word]
        rates = {vectors.name: vectors.nearest_rate(chosen) for vectors in measured}
        _show(f"{word} ({', '.join(senses_of(word, test))})", rates)


def _show(title: str, rates: dict[str, Rate]) -> None:
    print(f"{title}\n")
    for name, rate in rates.items():
        print(f"  {name:22}{rate}")
    print()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
