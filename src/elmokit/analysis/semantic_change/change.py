"""Two corpora and a biLM -> how much each word's use differs between them (semantic change), with uncertainty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.analysis.semantic_change.distances import Distances, false_discovery_rates, measure_distances
from elmokit.analysis.semantic_change.uses import SampledUses, TextCorpus, Use, open_corpus, sample_uses
from elmokit.analysis.semantic_change.words import (
    Forms,
    StopWords,
    count_tokens,
    frequent_words,
    parse_words,
    stop_list,
)
from elmokit.elmo.encoding import TOKENS_AT_ONCE, as_int, as_layers, spelt_as_in, unit_vectors
from elmokit.files.lines import is_read_once, shown_name
from elmokit.formats.find import model_name
from elmokit.system.batches import batched
from elmokit.system.messages import printable
from elmokit.system.progress_bar import progress_bar

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Float64

    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.encoding import Layers

    Vectors = Float32[np.ndarray, "L N E"]

VECTOR_BYTES = 256 << 20
"""Bytes of vectors in memory at once. Words are compared in groups of this size."""
SENTENCES_AT_ONCE = 512
REDISTRIBUTIONS_PER_WORD = 20
"""With 20 for each of N words, the smallest p is about 0.05 / N. If a single word has it, its q is 0.05."""


@dataclass(frozen=True)
class ChangeSettings:
    """How semantic change is measured."""

    layers: Layers = "top"
    """As in `Elmo.encode`; "all" measures each layer. The top layer tells senses apart best (docs/vectors.md)."""
    max_uses: int = 200
    """Largest number of a word's uses in a corpus to compare. If there are more, this many are drawn at random.

    A repeated sentence counts once."""
    min_uses: int = 5
    """Words with fewer uses in one of the corpora are left out."""
    max_words: int = 1000
    """Number of frequent words to compare if no words are given."""
    stop_words: StopWords = ()
    """Words, in any case, to leave out of these frequent words; "en" for a list of English function words."""
    num_contexts: int = 3
    """Number of the most moved contexts to list per word and corpus."""
    resamples: int = 1000
    """Resamples of the bootstrap, and of the permutation test. While no redistribution reaches a word's distance, more
    are drawn, up to 20 for each compared word, so that a single one of these words can have a q of 0.05."""
    ignore_case: bool = False
    patterns: bool = False
    """Whether the forms of the words are regular expressions, such as `linhas?`, which match whole tokens."""
    raw_text: bool = False
    """Whether to tokenise the corpora; otherwise tokens are separated by spaces."""
    column: str | None = None
    """Column of JSON lines, of tables with tabs or commas, or `form` of CoNLL-U. Its texts are the corpora's lines."""
    as_text: bool = False
    """Whether to read files as text even if they look like something else, such as a table."""
    seed: int = 0

    def __post_init__(self) -> None:
        at_least = {"max_uses": 2, "min_uses": 2, "max_words": 1, "num_contexts": 0, "resamples": 1, "seed": 0}
        for name, least in at_least.items():
            value = as_int(getattr(self, name))
            if value is None or value < least:
                raise ValueError(f"{name} is {getattr(self, name)!r}; expected a whole number, at least {least}")
        stop_list(self.stop_words)


@dataclass(frozen=True)
class MovedContext:
    """A use of a word that moved."""

    path: Path
    line: int
    """Number of the line from 1; in a column, the number of the text."""
    index: int
    """Index of the word in `tokens`."""
    tokens: tuple[str, ...]
    moved: float
    """Mean cosine distance from the uses in the other corpus, minus that from the other uses in its own."""


@dataclass(frozen=True)
class UsesInCorpus:
    """A word in one of the corpora."""

    total: int
    """Number of its uses, including those in repeated sentences."""
    of_forms: dict[str, int]
    """Number of uses of each given form of the word."""
    compared: int
    """Number of uses that were compared."""
    moved_most: tuple[MovedContext, ...]


@dataclass(frozen=True)
class WordChange:
    """How much the use of a word differs between the corpora, at one layer."""

    word: str
    layer: str
    """The layer's number, `top` or `average`."""
    distances: Distances
    first: UsesInCorpus
    second: UsesInCorpus


@dataclass(frozen=True)
class SemanticChange:
    """The result of a comparison of two corpora."""

    model: str
    """Name of the model that read them."""
    changes: tuple[WordChange, ...]
    """For each layer in turn, the words in order of falling excess."""
    too_rare: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Words that were left out, with their number of uses in each corpus."""


def semantic_change(
    elmo: Elmo,
    first: str | Path,
    second: str | Path,
    words: Iterable[str] | None = None,
    settings: ChangeSettings | None = None,
) -> SemanticChange:
    """Measure how much the use of words differs between two corpora, such as texts of two times (`elmokit change`).

    first, second: a text file with one sentence per line (plain, gzip or xz), a folder of such files, or a folder that
        `elmokit prepare` wrote (its training text is read).
    words: each a word, or a word and its forms, separated by spaces: `mouse mice`. The uses of all forms count as uses
        of the word. None takes the words that are most frequent in both corpora.

    The memory does not grow with the corpora, except for the counts of all tokens when no words are given. The same
    corpora, words and settings give the same result; other words do not change the uses that are drawn.
    Raises ValueError for words that are given twice, if all words are too rare, and for a pipe when no words are given;
    and the errors of reading text.
    """
    settings = settings or ChangeSettings()
    layers = as_layers(settings.layers, top=elmo.config.num_layers)
    if words is not None and settings.stop_words:
        raise ValueError("stop words apply only if no words are given; leave out --words, or words=")
    forms = None if words is None else _forms(words, settings)
    corpora = tuple(_open(path, settings) for path in (first, second))
    if forms is None:
        if piped := [file for corpus in corpora for file in corpus.files if is_read_once(file)]:
            raise ValueError(
                f"{shown_name(piped[0])} can be read only once, but is read twice without words; give a file or words"
            )
        counts = [count_tokens(corpus.sentences(), ignore_case=settings.ignore_case) for corpus in corpora]
        stop_words = stop_list(settings.stop_words)
        forms = frequent_words(*counts, most=settings.max_words, min_count=settings.min_uses, stop_words=stop_words)
        settings = replace(settings, patterns=False)
    sides = [_side(corpus, forms, settings, number) for number, corpus in enumerate(corpora)]
    totals = {word: (_num_uses(sides[0], word, settings), _num_uses(sides[1], word, settings)) for word in forms}
    enough = [word for word in forms if min(totals[word]) >= settings.min_uses]
    if not enough:
        raise ValueError(
            f"none of the {len(forms)} words, such as {printable(next(iter(forms)))!r}, occurs in this spelling at "
            f"least {settings.min_uses} times in both corpora; give other words or forms, larger corpora, or a lower "
            "min_uses (--min-uses)"
        )
    changes = _measure(elmo, layers, enough, sides, settings)
    rare = {word: total for word, total in totals.items() if min(total) < settings.min_uses}
    name = "a biLM" if elmo.name is None else model_name(elmo.name)
    return SemanticChange(name, tuple(change for of_layer in changes for change in _ranked(of_layer)), rare)


def use_vectors(
    elmo: Elmo, corpus: str | Path, words: Iterable[str], settings: ChangeSettings | None = None
) -> dict[str, Float32[np.ndarray, "*L N E"]]:
    """The vectors of each word's uses in a corpus, in order. Other tools for semantic change read this form.

    `np.savez("1850.npz", **use_vectors(elmo, "1850.txt", words))` writes the usual file. There are at most
    `settings.max_uses` of each word; a repeated sentence counts once. With `layers="all"`, each array has all layers.
    See `semantic_change` for the other arguments and the errors.
    """
    settings = settings or ChangeSettings()
    layers = as_layers(settings.layers, top=elmo.config.num_layers)
    forms = _forms(words, settings)
    found = _vectors(elmo, layers, list(forms), _side(_open(corpus, settings), forms, settings, 0))
    return found if layers == "all" else {word: vectors[0] for word, vectors in found.items()}


def _forms(words: Iterable[str], settings: ChangeSettings) -> Forms:
    how = {"ignore_case": settings.ignore_case, "raw_text": settings.raw_text, "patterns": settings.patterns}
    return parse_words(words, **how)


def _open(path: str | Path, settings: ChangeSettings) -> TextCorpus:
    return open_corpus(path, raw_text=settings.raw_text, column=settings.column, as_text=settings.as_text)


@dataclass(frozen=True)
class _Side:
    """One of the two corpora, and the uses that are compared."""

    corpus: TextCorpus
    sampled: Mapping[str, SampledUses]


def _side(corpus: TextCorpus, forms: Forms, settings: ChangeSettings, number: int) -> _Side:
    sampled = sample_uses(
        corpus,
        forms,
        most=settings.max_uses,
        ignore_case=settings.ignore_case,
        seed=f"{settings.seed} {number}",
        patterns=settings.patterns,
    )
    return _Side(corpus, sampled)


def _num_uses(side: _Side, word: str, settings: ChangeSettings) -> int:
    """Number of uses. If all are compared, a repeated sentence counts once; otherwise only the total is known."""
    sampled = side.sampled[word]
    return len(sampled.uses) if len(sampled.uses) < settings.max_uses else sampled.total


def _measure(
    elmo: Elmo, layers: Layers, words: Sequence[str], sides: Sequence[_Side], settings: ChangeSettings
) -> list[list[WordChange]]:
    """The changes of all words, for each layer. Words are compared in groups, so that their vectors fit into memory."""
    names = [str(number) for number in range(elmo.num_layers)] if layers == "all" else [str(layers)]
    found: list[list[WordChange]] = [[] for _ in names]
    most = REDISTRIBUTIONS_PER_WORD * len(words)
    num_bytes = 2 * settings.max_uses * len(names) * elmo.dim * np.dtype(np.float32).itemsize
    with progress_bar(unit="word", total=len(words)) as bar:
        for group in batched(words, size=max(VECTOR_BYTES // num_bytes, 1)):
            vectors = [_vectors(elmo, layers, group, side) for side in sides]
            for word in group:
                for place, name in enumerate(names):
                    first, second = (of_side[word][place] for of_side in vectors)
                    found[place].append(_change(word, name, first, second, sides, settings, most_resamples=most))
                bar.update()
    return found


def _vectors(elmo: Elmo, layers: Layers, words: Sequence[str], side: _Side) -> dict[str, Vectors]:
    """The vectors of the sampled uses of each word, in their order. A sentence with several uses is encoded once."""
    wanted: dict[tuple[int, int], list[tuple[str, int, Use]]] = {}
    for word in words:
        for place, use in enumerate(side.sampled[word].uses):
            wanted.setdefault((use.file, use.line), []).append((word, place, use))
    depth = elmo.num_layers if layers == "all" else 1
    found = {word: np.empty((depth, len(side.sampled[word].uses), elmo.dim), np.float32) for word in words}
    sentences = ((uses, side.corpus.split(uses[0][2].sentence)) for uses in wanted.values())
    for block in batched(
        sentences, size=SENTENCES_AT_ONCE, weight=lambda one: len(one[1]), enough_weight=TOKENS_AT_ONCE
    ):
        read = spelt_as_in(elmo.vocabulary, [tokens for _, tokens in block])
        arrays = elmo.encode(read, layers=layers, show_progress_bar=False)
        for (uses, _), array in zip(block, arrays, strict=True):
            for word, place, use in uses:
                found[word][:, place] = array[..., use.index, :]
    return found


def _change(
    word: str,
    layer: str,
    first: Float32[np.ndarray, "N E"],
    second: Float32[np.ndarray, "M E"],
    sides: Sequence[_Side],
    settings: ChangeSettings,
    *,
    most_resamples: int,
) -> WordChange:
    randomness = np.random.default_rng([settings.seed, *word.encode(errors="surrogateescape")])
    distances = measure_distances(
        first, second, resamples=settings.resamples, most_resamples=most_resamples, randomness=randomness
    )
    in_first = _uses(word, sides[0], moved_by(first, second), settings.num_contexts)
    in_second = _uses(word, sides[1], moved_by(second, first), settings.num_contexts)
    return WordChange(word, layer, distances, in_first, in_second)


def moved_by(own: Float[np.ndarray, "N E"], other: Float[np.ndarray, "M E"]) -> Float64[np.ndarray, " N"]:
    """For each use in one corpus, its distance from the other corpus's uses minus that from the other uses in its own.

    Both are average cosine distances. If a corpus has a single use, the distance from its own counts as 0.
    """
    units, others = unit_vectors(own.astype(np.float64)), unit_vectors(other.astype(np.float64))
    to_other = 1 - units @ others.mean(axis=0)
    if len(units) == 1:
        return to_other
    without_itself = (units.sum(axis=0) - units) / (len(units) - 1)
    return to_other - (1 - (units * without_itself).sum(axis=1))


def _uses(word: str, side: _Side, moved: Float64[np.ndarray, " N"], num_contexts: int) -> UsesInCorpus:
    sampled = side.sampled[word]
    furthest: list[int] = np.argsort(-moved, kind="stable")[:num_contexts].tolist()
    contexts: list[MovedContext] = []
    for place in furthest:
        use, corpus = sampled.uses[place], side.corpus
        tokens = tuple(corpus.split(use.sentence))
        contexts.append(MovedContext(corpus.files[use.file], use.line, use.index, tokens, float(moved[place])))
    return UsesInCorpus(sampled.total, sampled.of_forms, len(sampled.uses), tuple(contexts))


def _ranked(changes: Sequence[WordChange]) -> list[WordChange]:
    """Sort the words of a layer by falling excess, and set the share of false alarms (q) of each."""
    names = [one.name for one in fields(Distances)]
    q = {name: false_discovery_rates([getattr(change.distances, name).p for change in changes]) for name in names}
    judged = [
        replace(
            change,
            distances=Distances(**{name: replace(getattr(change.distances, name), q=q[name][place]) for name in names}),
        )
        for place, change in enumerate(changes)
    ]
    return sorted(judged, key=lambda change: -change.distances.excess.estimate)
