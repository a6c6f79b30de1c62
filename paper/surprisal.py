"""Surprisal of minimal pairs (BLiMP, Warstadt et al., 2020), and of read words (Natural Stories, Futrell et al., 2021).

The reading times of words, means over readers, are predicted by linear regression: once from position, length and
frequency of the word and of the one before it, and once also from the surprisals of both (Smith and Levy, 2013). Each
story is predicted from the regression over the others; what counts is the gain in log likelihood per word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from elmokit.elmo.elmo import Elmo
from elmokit.elmo.surprisal import SurprisalModel
from elmokit.files.json import json_lines, picked
from elmokit.files.lines import read_lines
from elmokit.formats.find import FINGERPRINT_DIGITS, model_name
from elmokit.runs.results_table import Result
from elmokit.scoring.minimal_pairs import Sentences, accuracies, score_pairs
from elmokit.system.messages import FormatError
from elmokit.system.progress_bar import progress_bar
from elmokit.text.alignment import token_offsets
from elmokit.text.tokenizer import split_sentences, tokenize
from paper.data import data_folder, not_empty

if TYPE_CHECKING:
    from jaxtyping import Float, Int

T = TypeVar("T")
RATES = {"forward": ("forward",), "backward": ("backward",), "both": ("forward", "backward")}


def blimp_results(data_dir: Path, model: str) -> list[Result]:
    """The accuracy of a model on each paradigm, in each direction and in both together."""
    folder = data_folder(data_dir, "external/blimp", "data")
    elmo = Elmo.from_pretrained(model)
    reader, rows = elmo.surprisal_model(), list[Result]()
    with progress_bar(unit="paradigm") as bar:
        for file in sorted(folder.glob("*.jsonl")):
            term, pairs = read_paradigm(file)
            common: dict[str, Any] = {
                "table": "blimp",
                "task": term,
                "data": file.stem,
                "corpus_size": len(pairs),
                **_named(elmo),
            }
            right = accuracies(list(score_pairs(reader, pairs)))
            rows += [Result(one.percent, "accuracy", layer=direction, **common) for direction, one in right.items()]
            bar.update()
    return rows


def reading_times_results(data_dir: Path, model: str) -> list[Result]:
    """What the surprisals of a model add to the log likelihood of reading times, with the standard error over words."""
    words = read_words(data_folder(data_dir, "external/natural_stories", "ns"))
    elmo = Elmo.from_pretrained(model)
    scored = score_words(elmo.surprisal_model(), words)
    rows: list[Result] = []
    for direction, directions in RATES.items():
        added = added_likelihood(scored, directions)
        common: dict[str, Any] = {
            "table": "reading-times",
            "data": "Natural Stories",
            "corpus_size": len(added),
            **_named(elmo),
        }
        error = float(added.std(ddof=1)) / math.sqrt(len(added))
        rows.append(Result(float(added.mean()), "added log likelihood", layer=direction, **common))
        rows.append(Result(error, "standard error", layer=direction, **common))
    return rows


def _named(elmo: Elmo) -> dict[str, str]:
    return {"model": model_name(str(elmo.name)), "fingerprint": elmo.fingerprint()[:FINGERPRINT_DIGITS]}


@dataclass(frozen=True)
class _Pair:
    """A line of a file of BLiMP."""

    linguistics_term: str
    sentence_good: str
    sentence_bad: str


def read_paradigm(path: Path) -> tuple[str, list[Sentences]]:
    """The phenomenon that a file of JSON lines is about, such as `island_effects`, and its minimal pairs.

    Raises FormatError, naming file and line, for what is not a file of BLiMP.
    """
    term, pairs = "", list[Sentences]()
    for where, values in json_lines(read_lines(path), name=str(path)):
        pair = picked(values, _Pair, where=where)
        term = pair.linguistics_term
        pairs.append((tokenize(pair.sentence_good), tokenize(pair.sentence_bad)))
    return term, not_empty(path, pairs)


@dataclass(frozen=True)
class ReadWord:
    """A word of a story as people read it, with its punctuation."""

    text: str
    story: int
    zone: int
    """Position in the story, from 1."""
    milliseconds: float
    """Mean reading time over readers."""


@dataclass(frozen=True)
class ScoredWord:
    """A word with what a regression reads of it."""

    word: ReadWord
    log_rank: float
    """Log of the rank of its first token in the model's vocabulary: by Zipf's law, minus its log frequency."""
    bits: dict[str, float]
    """Sum of the surprisals of its tokens, by direction."""
    is_known: bool
    """Whether the vocabulary has all of its tokens."""
    is_at_edge: bool
    """Whether it is the first or the last word of its sentence."""


def read_words(folder: Path) -> list[ReadWord]:
    """Words of Natural Stories in order: `all_stories.tok` with the reading times of `processed_wordinfo.tsv`.

    Words without a reading time are left out. Raises FileNotFoundError for a missing file, and FormatError, naming
    file and line, for a damaged one.
    """
    times = _cells(folder / "processed_wordinfo.tsv", lambda cells: float(cells[4]))
    words = _cells(folder / "all_stories.tok", lambda cells: cells[0])
    return [ReadWord(word, *place, milliseconds=times[place]) for place, word in words.items() if place in times]


def score_words(model: SurprisalModel, words: Sequence[ReadWord]) -> list[ScoredWord]:
    """Surprisal and rank of each word, whose sentence is read by itself."""
    stories = [[word for word in words if word.story == story] for story in dict.fromkeys(one.story for one in words)]
    sentences = [sentence for story in stories for sentence in _sentences(story)]
    tokens = [tokenize(" ".join(word.text for word in sentence)) for sentence in sentences]
    scored: list[ScoredWord] = []
    for sentence, of_sentence, result in zip(sentences, tokens, model.read(tokens), strict=True):
        owners = _owners(sentence, of_sentence)
        bits = {direction: result.bits(direction) for direction in result.directions}
        for index, word in enumerate(sentence):
            own = np.flatnonzero(owners == index)
            if len(own):
                log_rank = math.log(1 + model.vocabulary.id(of_sentence[int(own[0])]))
                sums = {direction: float(side[own].sum()) for direction, side in bits.items()}
                is_at_edge = index in (0, len(sentence) - 1)
                scored.append(ScoredWord(word, log_rank, sums, bool(result.known[own].all()), is_at_edge))
    return scored


def added_likelihood(scored: Sequence[ScoredWord], directions: Sequence[str]) -> Float[np.ndarray, " N"]:
    """What the surprisals of these directions add to the log likelihood (nats) of each word that is predicted.

    These are the words that are neither first nor last in their sentence, if they and the word before are known.
    Raises ValueError if there are fewer than two stories.
    """
    pairs = [
        (before, here)
        for before, here in zip(scored, scored[1:], strict=False)
        if here.is_known and before.is_known and not here.is_at_edge and here.word.zone == before.word.zone + 1
    ]
    stories = np.array([here.word.story for _, here in pairs])
    if len(set(stories.tolist())) < 2:
        raise ValueError("there are fewer than two stories; each is predicted from the others")
    times = np.array([here.word.milliseconds for _, here in pairs])
    control = np.array([[1.0, here.word.zone, *_control(before), *_control(here)] for before, here in pairs])
    surprisals = np.array([[word.bits[way] for word in pair for way in directions] for pair in pairs])
    plain = _log_likelihoods(control, times, stories)
    return _log_likelihoods(np.hstack([control, surprisals]), times, stories) - plain


def _control(scored: ScoredWord) -> tuple[float, float, float]:
    length = float(len(scored.word.text))
    return length, scored.log_rank, length * scored.log_rank


def _log_likelihoods(
    predictors: Float[np.ndarray, "N P"], times: Float[np.ndarray, " N"], stories: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """Log density of each time under a normal distribution around its prediction from the other stories."""
    found = np.empty(len(times))
    for story in np.unique(stories):
        here, others = stories == story, stories != story
        weights = np.linalg.lstsq(predictors[others], times[others], rcond=None)[0]
        variance = np.mean((times[others] - predictors[others] @ weights) ** 2)
        errors = times[here] - predictors[here] @ weights
        found[here] = -0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance)
    return found


def _cells(path: Path, read: Callable[[list[str]], T]) -> dict[tuple[int, int], T]:
    """What is read of the cells of each line after the header, by story and zone, the third cell and the second."""
    found: dict[tuple[int, int], T] = {}
    for number, line in islice(enumerate(read_lines(path), start=1), 1, None):
        cells = line.split("\t")
        try:
            found[int(cells[2]), int(cells[1])] = read(cells)
        except (ValueError, IndexError):
            expected = "a word, its zone and its story, and in processed_wordinfo.tsv its reading time in column 5"
            raise FormatError(f"{path}, line {number}", f"cannot be read; expected {expected}") from None
    return not_empty(path, found)


def _sentences(story: Sequence[ReadWord]) -> Iterator[list[ReadWord]]:
    start = 0
    for sentence in split_sentences(" ".join(word.text for word in story)):
        end = start + len(sentence.split())
        yield list(story[start:end])
        start = end


def _owners(words: Sequence[ReadWord], tokens: list[str]) -> Int[np.ndarray, " T"]:
    """For each token, the index of the word in which it begins."""
    text = " ".join(word.text for word in words)
    ends = np.cumsum([len(word.text) + 1 for word in words])
    return np.searchsorted(ends, [start for start, _ in token_offsets(text, tokens)], side="right")
