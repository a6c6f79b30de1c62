"""The sentences that the explorer searches in, with all layers of all tokens in int8, and the rates of the tour."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.polysemes import LISTS, language_of, read_polysemes, senses_of, words_of
from elmokit.analysis.polysemy import chance, nearest_hits, target_vectors
from elmokit.text.lines import read_lines
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jaxtyping import Float, Float32, Int8
    from numpy.typing import NDArray

    from elmokit.analysis.polysemes import Language, Occurrence
    from elmokit.model.elmo import Elmo

MAX_TOKENS = 200_000
"""Tokens of a corpus: an index of 150 MB for a small model."""
_LARGEST = 127


@dataclass(frozen=True)
class Corpus:
    """Sentences to search in, and the occurrences of words whose senses are known."""

    sentences: list[list[str]]
    occurrences: list[Occurrence]
    """Those of the first sentences, in their order; the rest is of unknown senses."""
    sources: list[tuple[str, int]]
    """The name of each file, and the number of the first of its sentences."""


def read_corpus(paths: Sequence[Path], language: Language, *, raw_text: bool = False) -> Corpus:
    """The list of polysemes of a language, and the lines of files (plain, gzip or xz).

    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces.
    Raises ValueError for a file without sentences, and for more than MAX_TOKENS tokens in all.
    """
    occurrences = read_polysemes(LISTS[language])
    sentences = [list(occurrence.tokens) for occurrence in occurrences]
    sources: list[tuple[str, int]] = []
    num_tokens = 0
    for path in paths:
        sources.append((path.name, len(sentences)))
        for line in read_lines(path):
            tokens = tokenize(line) if raw_text else line.split()
            num_tokens += len(tokens)
            if num_tokens > MAX_TOKENS:
                raise ValueError(f"{path}: there are more than {MAX_TOKENS:,} tokens; give the explorer a part of them")
            if tokens:
                sentences.append(tokens)
        if len(sentences) == sources[-1][1]:
            raise ValueError(f"{path} has no sentences; expected one per line")
    return Corpus(sentences, occurrences, sources)


def language_of_model(elmo: Elmo) -> Language:
    """The language of the list and of the page."""
    return language_of(elmo.vocabulary)


def write_corpus(folder: Path, corpus: Corpus, elmo: Elmo) -> None:
    """Write `corpus.json` and `corpus.bin`: scales (L,N) in float32, and then int8 (L,N,2D), of the N tokens."""
    encoded = elmo.encode(corpus.sentences, layers="all")
    layers = np.concatenate(encoded, axis=1)
    numbers, scales = quantised(layers)
    with (folder / "corpus.bin").open("wb") as file:
        file.write(scales.astype("<f4").tobytes())
        file.write(numbers.tobytes())
    senses = [[number, occurrence.index, occurrence.sense] for number, occurrence in enumerate(corpus.occurrences)]
    about = {
        "num_layers": elmo.num_layers,
        "dim": elmo.dim,
        "sentences": corpus.sentences,
        "senses": senses,
        "sources": corpus.sources,
        **_rates(corpus.occurrences, encoded[: len(corpus.occurrences)]),
    }
    (folder / "corpus.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


def quantised(
    vectors: Float[np.ndarray, "L N E"],
) -> tuple[Int8[np.ndarray, "L N E"], Float32[np.ndarray, "L N"]]:
    """Each vector in 127 steps of its scale to either side, and the scales."""
    scales = np.abs(vectors).max(axis=-1).astype(np.float32) / np.float32(_LARGEST)
    steps = vectors / np.where(scales > 0, scales, 1)[..., None]
    return np.rint(steps).clip(-_LARGEST, _LARGEST).astype(np.int8), scales


def _rates(occurrences: list[Occurrence], encoded: list[Float32[np.ndarray, "L T E"]]) -> dict[str, object]:
    """How often the nearest neighbour has the same sense, by chance and at each layer, for all words and for each."""
    targets = target_vectors(encoded, occurrences)
    hits = [chance(occurrences).nearest, *(nearest_hits(layer, occurrences) for layer in targets)]
    overall = [float(of_layer.mean()) for of_layer in hits]
    return {"words": _words(occurrences, hits), "chance": overall[0], "rates": overall[1:]}


def _words(occurrences: list[Occurrence], hits: list[NDArray[np.float64]]) -> list[dict[str, object]]:
    """For each word of the list: senses, an example of each, and its rates."""
    words: list[dict[str, object]] = []
    for word in words_of(occurrences):
        members = [number for number, occurrence in enumerate(occurrences) if occurrence.word == word]
        senses = senses_of(word, occurrences)
        examples = [next(occurrences[number] for number in members if occurrences[number].sense == s) for s in senses]
        rates = [float(of_layer[members].mean()) for of_layer in hits]
        words.append(
            {
                "word": word,
                "senses": senses,
                "examples": [" ".join(example.tokens) for example in examples],
                "index": examples[0].index,
                "chance": rates[0],
                "rates": rates[1:],
            }
        )
    return words
