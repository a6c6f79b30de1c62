"""How well three distances (PRT, APD and excess) find constructed change, by layer, on words that swap senses.

    python benchmarks/semantic_change.py [--semcor FOLDER] [--constructions 200] [--output FILE]

Corpora are made from the bundled lists of words in two senses (8 sentences per sense, English and Korean). FOLDER
(SemCor of Raganato et al., 2017: semcor.data.xml and semcor.gold.key.txt) adds words that have two senses in SemCor,
with SEMCOR_USES sentences per sense. See constructed_change.py.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

from constructed_change import score_measures
from elmokit.analysis.polysemes import LISTS, Occurrence, read_polysemes, words_of
from elmokit.elmo.elmo import Elmo
from elmokit.system.batches import batched
from paper.senses import read_sense_corpus

SEMCOR_USES = 20
"""Sentences per sense; each of the two corpora has this many uses of a word."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--semcor", type=Path, metavar="FOLDER")
    parser.add_argument("--constructions", type=int, default=200)
    parser.add_argument("--output", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    sources = {("small-en", "list"): read_polysemes(), ("mini-ko", "list"): read_polysemes(LISTS["ko"])}
    if arguments.semcor:
        sources["small-en", "SemCor"] = semcor_words(arguments.semcor)
    rows: list[dict[str, object]] = []
    for (model, source), occurrences in sources.items():
        for layer, vectors in enumerate(layers_of(Elmo.from_pretrained(model), occurrences)):
            scores = score_measures(vectors, occurrences, num_constructions=arguments.constructions)
            row: dict[str, object] = {"model": model, "source": source, "words": len(words_of(occurrences))}
            row |= {"uses": len(occurrences), "layer": layer, "constructions": arguments.constructions}
            for name, score in scores.items():
                row |= {f"{name} spearman": round(score.spearman.mean, 3), f"{name} area": round(score.area.mean, 3)}
                row |= {f"{name} spearman sd": round(score.spearman.deviation or 0, 3)}
            rows.append(row)
            print(json.dumps(row))
    if arguments.output:
        arguments.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def semcor_words(folder: Path) -> list[Occurrence]:
    """The first uses of the two most frequent senses of each word (lemma and part of speech) with enough uses."""
    corpus = read_sense_corpus(folder / "semcor.data.xml", folder / "semcor.gold.key.txt")
    single = [one for one in corpus.instances if one.target.end == one.target.start + 1]
    senses: dict[str, Counter[str]] = {}
    for one in single:
        senses.setdefault(f"{one.lemma} {one.pos}", Counter())[one.senses[0]] += 1
    chosen = {
        (word, sense)
        for word, counts in senses.items()
        if len(best := counts.most_common(2)) == 2 and best[1][1] >= SEMCOR_USES
        for sense, _ in best
    }
    found: dict[tuple[str, str], list[Occurrence]] = {}
    for one in single:
        word, sense = f"{one.lemma} {one.pos}", one.senses[0]
        if (word, sense) in chosen and len(found.get((word, sense), ())) < SEMCOR_USES:
            tokens = tuple(corpus.sentences[one.target.sentence])
            found.setdefault((word, sense), []).append(Occurrence(word, one.pos, sense, one.target.start, tokens))
    return [occurrence for uses in found.values() for occurrence in uses]


def layers_of(elmo: Elmo, occurrences: list[Occurrence]) -> np.ndarray:
    """Vectors (L,N,E) of the occurrences."""
    targets: list[np.ndarray] = []
    for part in batched(occurrences, size=500):
        encoded = elmo.encode([list(one.tokens) for one in part], layers="all")
        targets += [array[:, one.index] for array, one in zip(encoded, part, strict=True)]
    return np.stack(targets, axis=1)


if __name__ == "__main__":
    main()
