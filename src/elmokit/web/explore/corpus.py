"""The sentences that the explorer searches in, with all layers of all tokens in int8, and the rates of the tour."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from elmokit.analysis.polysemes import LISTS, members_of, read_polysemes, senses_of, words_of
from elmokit.analysis.polysemy import chance, nearest_hits, occurrence_vectors
from elmokit.files.lines import split_tokens
from elmokit.formats.native import as_int8
from elmokit.system.batches import batched
from elmokit.system.messages import first_token
from elmokit.system.progress_bar import progress_bar
from elmokit.text.corpora.cells import whole_number
from elmokit.text.sentence_lines import sentence_lines
from elmokit.text.tokenizer import tokenize
from elmokit.web.explore.planes import umap_planes

if TYPE_CHECKING:
    from jaxtyping import Float32, Float64

    from elmokit.analysis.polysemes import Language, Occurrence
    from elmokit.elmo.elmo import Elmo

MAX_TOKENS = 200_000
"""Most tokens in a corpus. This many make an index of 150 MB for a small model."""
BLOCK_SENTENCES = 1024
"""Sentences whose vectors are in memory at once."""
LABELLED = re.compile(r"\.tsv(\.gz|\.bz2|\.xz)?$", re.IGNORECASE)
MAX_RATED_OCCURRENCES = 300
"""Most occurrences of one word in the rates, shared evenly among its senses."""
MAX_RATED = 3000
"""Most occurrences of all words in the rates. Their inner products take at most 10 MB."""


@dataclass(frozen=True)
class Corpus:
    """Sentences to search in, and the occurrences of words whose senses are known."""

    sentences: list[list[str]]
    occurrences: list[Occurrence]
    """The words of the tour. They occur in the first sentences, in the same order."""
    sources: list[tuple[str, int]]
    """The name of each file, and the number of the first of its sentences."""
    labels: list[tuple[int, int, str]]
    """Tokens of files whose sense (or part of speech) is known: sentence, index, sense."""

    def senses(self) -> list[tuple[int, int, str]]:
        """All tokens whose sense is known: sentence, index, sense."""
        listed = [(number, occurrence.index, occurrence.sense) for number, occurrence in enumerate(self.occurrences)]
        return listed + self.labels


def read_corpus(
    paths: Sequence[Path],
    sample: Language | None,
    *,
    raw_text: bool = False,
    column: str | None = None,
    as_text: bool = False,
) -> Corpus:
    """The list of polysemes of a language, if there is one, and the lines of files (plain or compressed).

    A line of a file named `.tsv` (`.tsv.gz`, `.tsv.xz`) has, after the sentence, an index and a label for each token
    whose sense, or part of speech, is known: `tokens <tab> index <tab> label <tab> index <tab> label`.

    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces. Both become NFC, like typed
        text.
    column: column of JSON lines, of tables with tabs or commas, or `form` of CoNLL-U. Its texts become the lines.
    Raises ValueError for a file without sentences, for more than MAX_TOKENS tokens in all, and, naming the line, for an
    index without a label, an index that no token has, and labels with `raw_text`. A column has no labels.

    A sentence that a file repeats counts once, with the labels of all its lines, unless they differ on a token.
    """
    occurrences = [] if sample is None else read_polysemes(LISTS[sample])
    sentences = [list(occurrence.tokens) for occurrence in occurrences]
    sources: list[tuple[str, int]] = []
    labels: dict[tuple[int, int], str] = {}
    num_tokens = 0
    for path in paths:
        is_only = [other.name for other in paths].count(path.name) == 1
        sources.append((path.name if is_only else str(path), len(sentences)))
        is_labelled = column is None and LABELLED.search(path.name) is not None
        places: dict[tuple[str, ...], int] = {}
        lines = sentence_lines(path, raw_text=raw_text, column=column, has_columns=is_labelled, as_text=as_text)
        for number, line in enumerate(lines, start=1):
            text, *columns = line.split("\t") if is_labelled else [line]
            tokens = tokenize(text) if raw_text else split_tokens(unicodedata.normalize("NFC", text))
            found = _labels(columns, tokens, f"{path}, line {number}", raw_text=raw_text)
            place = places.get(tuple(tokens), len(sentences))
            if any(labels.get((place, index), label) != label for index, label in found):
                place = len(sentences)
            if tokens and place == len(sentences):
                places[tuple(tokens)] = place
                sentences.append(tokens)
                num_tokens += len(tokens)
            if num_tokens > MAX_TOKENS:
                raise ValueError(f"{path}: there are more than {MAX_TOKENS:,} tokens; give the explorer fewer")
            labels |= {(place, index): label for index, label in found}
        if len(sentences) == sources[-1][1]:
            raise ValueError(f"{path} has no sentences; expected one per line")
    return Corpus(sentences, occurrences, sources, [(*place, label) for place, label in labels.items()])


def _labels(columns: list[str], tokens: list[str], where: str, *, raw_text: bool) -> list[tuple[int, str]]:
    if columns and raw_text:
        raise ValueError(f"{where}: labels belong to tokens; give text with spaces between tokens, not raw text")
    if len(columns) % 2:
        raise ValueError(f"{where}: {len(columns)} columns after the sentence; expected an index and a label for each")
    pairs: list[tuple[int, str]] = []
    for column, label in zip(columns[::2], columns[1::2], strict=True):
        index = whole_number(column)
        if index is None or index >= len(tokens) or not label or index in dict(pairs):
            expected = f"expected an index from 0 to {len(tokens) - 1}, each once, and a label"
            raise ValueError(f"{where}: {first_token(column)} with the label {first_token(label)}; {expected}")
        pairs.append((index, label))
    return pairs


def write_corpus(folder: Path, corpus: Corpus, elmo: Elmo, *, umap: bool = False) -> None:
    """Write `corpus.json` and `corpus.bin`. The latter has scales (L,N) in float32, then int8 (L,N,2D), for N tokens.

    `rates.bin` has the inner products in float32 (P,M,M) of the occurrences of each rated word, one after the other.
    The rated words are labelled in files if there are any; otherwise they come from the list.

    umap: whether to compute the planes of the words' occurrences by UMAP, too.
    Raises ValueError, naming the extra, if that needs a package that is missing.
    """
    tokens = [token for sentence in corpus.sentences for token in sentence]
    shape = elmo.num_layers, len(tokens), elmo.dim
    ends = np.cumsum([0, *(len(sentence) for sentence in corpus.sentences)]).tolist()
    listed: list[Float32[np.ndarray, "L T E"]] = []
    senses = {ends[sentence] + index: sense for sentence, index, sense in corpus.senses()}
    first_of_files = ends[len(corpus.occurrences)]
    rated = rated_words({number: sense for number, sense in senses.items() if number >= first_of_files}, tokens)
    is_of_files = bool(rated)
    rated = rated or rated_words(senses, tokens)
    numbers = sorted(number for occurrences in rated.values() for number in occurrences)
    places = {number: at for at, number in enumerate(numbers)}
    targets = np.empty((elmo.num_layers, len(places), elmo.dim), np.float32)
    top = np.empty(shape[1:] if umap else (0, elmo.dim), np.float32)
    start = 0
    with (folder / "corpus.bin").open("wb") as file, progress_bar(unit="token", total=len(tokens), scale=True) as bar:
        for block in batched(corpus.sentences, size=BLOCK_SENTENCES):
            encoded = elmo.encode(block, layers="all", show_progress_bar=False)
            listed += encoded[: len(corpus.occurrences) - len(listed)]
            vectors = np.concatenate(encoded, axis=1)
            _write_quantised(file, vectors, shape, start=start)
            here = [number for number in places if start <= number < start + vectors.shape[1]]
            targets[:, [places[number] for number in here]] = vectors[:, [number - start for number in here]]
            if umap:
                top[start : start + vectors.shape[1]] = vectors[-1]
            start += vectors.shape[1]
            bar.update(vectors.shape[1])
    with (folder / "rates.bin").open("wb") as file:
        for occurrences in rated.values():
            of_word = targets[:, [places[number] for number in occurrences]]
            file.write(inner_products(of_word).astype("<f4").tobytes())
    starts = [ends[first] for _, first in corpus.sources]
    planes = umap_planes(top, tokens, first=words_of(corpus.occurrences), starts=starts) if umap else {}
    about = {
        "num_layers": elmo.num_layers,
        "dim": elmo.dim,
        "sentences": corpus.sentences,
        "senses": corpus.senses(),
        "sources": corpus.sources,
        "planes": planes,
        "rated": [[word, [*occurrences.values()]] for word, occurrences in rated.items()],
        "rated_files": is_of_files,
        **_rates(corpus.occurrences, listed),
    }
    (folder / "corpus.json").write_text(json.dumps(about, ensure_ascii=False), encoding="utf-8")


def _write_quantised(
    file: BinaryIO, vectors: Float32[np.ndarray, "L T E"], shape: tuple[int, int, int], *, start: int
) -> None:
    """Write the vectors of tokens, from number `start` on, to their places in the array of all tokens (L,N,E)."""
    numbers, scales = as_int8(vectors)
    num_layers, num_tokens, dim = shape
    after_scales = num_layers * num_tokens * scales.itemsize
    for layer in range(num_layers):
        place = layer * num_tokens + start
        file.seek(place * scales.itemsize)
        file.write(scales[layer].astype("<f4").tobytes())
        file.seek(after_scales + place * dim)
        file.write(numbers[layer].tobytes())


def rated_words(senses: Mapping[int, str], tokens: Sequence[str]) -> dict[str, dict[int, str]]:
    """Words, in lower case, with at least two known senses, one of them at least twice: token number -> sense.

    senses: senses of the labelled tokens by their numbers, in the order of the corpus. If a word has more senses than
        can be rated, the most frequent ones are rated.
    """
    by_word: dict[str, dict[str, list[int]]] = {}
    for number, sense in senses.items():
        by_word.setdefault(tokens[number].lower(), {}).setdefault(sense, []).append(number)
    rated: dict[str, dict[int, str]] = {}
    left = MAX_RATED
    for word, by_sense in by_word.items():
        if len(by_sense) < 2 or all(len(numbers) < 2 for numbers in by_sense.values()):
            continue
        kept = sorted(by_sense.items(), key=lambda each: -len(each[1]))[: MAX_RATED_OCCURRENCES // 2]
        share = MAX_RATED_OCCURRENCES // len(kept)
        chosen = sorted((number, sense) for sense, numbers in kept for number in numbers[:share])
        if len(chosen) <= left:
            rated[word] = dict(chosen)
            left -= len(chosen)
    return rated


def inner_products(layers: Float32[np.ndarray, "L N E"]) -> Float32[np.ndarray, "P N N"]:
    """Inner products of every two vectors for each pair of layers: `h_l h_l'`, and `h_l h_m' + h_m h_l'` for l < m.

    To get the inner products of a mix with weights s, multiply these by `s_l s_m` and add them.
    """
    pairs = [(one, other) for one in range(len(layers)) for other in range(one, len(layers))]
    exact = layers.astype(np.float64)
    products = [exact[one] @ exact[other].T * (0.5 if one == other else 1.0) for one, other in pairs]
    return np.stack([product + product.T for product in products]).astype(np.float32)


def _rates(occurrences: list[Occurrence], encoded: list[Float32[np.ndarray, "L T E"]]) -> dict[str, object]:
    """How often the nearest neighbour has the same sense, by chance and at each layer, for all words and for each."""
    if not occurrences:
        return {"words": [], "chance": None, "rates": []}
    targets = occurrence_vectors(encoded, occurrences)
    hits = np.stack([chance(occurrences).nearest, *(nearest_hits(layer, occurrences) for layer in targets)])
    words: list[dict[str, object]] = []
    for word in words_of(occurrences):
        members = members_of(word, occurrences)
        senses = senses_of(word, occurrences)
        examples = [next(occurrences[number] for number in members if occurrences[number].sense == s) for s in senses]
        texts = [" ".join(example.tokens) for example in examples]
        shown = {"word": word, "senses": senses, "examples": texts, "index": examples[0].index}
        words.append({**shown, **_shares(hits[:, members])})
    return {"words": words, **_shares(hits)}


def _shares(hits: Float64[np.ndarray, "K N"]) -> dict[str, object]:
    by_chance, *rates = (float(of_layer.mean()) for of_layer in hits)
    return {"chance": by_chance, "rates": rates}
