"""Word in Context: is a word meant in the same sense in two sentences? By the cosine of its vectors and a threshold.

English WiC (Pilehvar and Camacho-Collados, 2019) and KB-WiC of KoBEST (Kim et al., 2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.elmo.layer_choice import unit_vectors
from elmokit.files.lines import read_lines, split_tokens
from elmokit.model.vector_source import VectorSource
from elmokit.system.messages import FormatError, printable
from elmokit.text.alignment import token_offsets
from elmokit.text.corpora.tables import table_rows
from elmokit.text.tokenizer import tokenize
from paper.data_folders import data_folder, not_empty
from paper.printed import KOBEST_WIC, WIC
from paper.probes.targets import Target, mixes, target_vectors
from paper.reproduction import OurRow, Request
from paper.systems import KOREAN_SYSTEMS, Measured, System, SystemTable, as_hits, english_systems, measure_systems
from paper.table5 import TOP_LAYER_OVER_OTHERS

if TYPE_CHECKING:
    from jaxtyping import Bool, Float64

PARTS = ("train", "dev", "test")


def compute(request: Request, *, name: str) -> None:
    """Score each system on the pairs of WiC, or on those of KB-WiC, tokenised as the Korean model was trained."""
    if name == "wic":
        folder = data_folder(request.data_dir, "external/wic", "HW2", "WiC_dataset")
        parts = [read_wic(folder / part / f"{part}.data.txt", folder / part / f"{part}.gold.txt") for part in PARTS]
        default = english_systems(request.data_dir)
    else:
        folder, default = data_folder(request.data_dir, "external/kobest", "v1.0", "WiC"), KOREAN_SYSTEMS
        parts = [read_kobest_wic(folder / f"{part}.tsv") for part in PARTS]
    data = " / ".join(f"{len(part):,}" for part in parts) + " pairs"
    measure_systems(name, request, partial(score_wic, parts=parts), default=default, data=data)


@dataclass(frozen=True, slots=True)
class Pair:
    """A word in two sentences; the indices are its tokens."""

    tokens: tuple[list[str], list[str]]
    indices: tuple[int, int]
    is_same: bool
    """Whether the word has the same sense in both."""


def read_wic(data: Path, gold: Path) -> list[Pair]:
    """Pairs of `NAME.data.txt` (word, part of speech, indices such as 3-4, both sentences) and `NAME.gold.txt`.

    Raises FormatError, naming file and line, where one of them is damaged.
    """
    pairs: list[Pair] = []
    for number, (line, answer) in enumerate(zip_longest(read_lines(data), read_lines(gold), fillvalue=""), start=1):
        try:
            _, _, indices, *texts = line.split("\t")
            one, other = map(split_tokens, texts)
            first, second = map(int, indices.split("-"))
            is_same = {"T": True, "F": False}[answer]
            _ = one[first], other[second]
        except (ValueError, LookupError):
            expected = f"a word, its part of speech, indices such as 3-4 and two sentences, and T or F in {gold.name}"
            raise FormatError(f"{data}, line {number}", f"cannot be read; expected {expected}") from None
        pairs.append(Pair((one, other), (first, second), is_same))
    return not_empty(data, pairs)


def read_kobest_wic(path: Path) -> list[Pair]:
    """Pairs of a table of KB-WiC, where the word is in [brackets]; its token is the one in which it begins.

    A row without brackets in both sentences is left out, as there is nothing to compare. Raises ValueError, naming the
    line, for an answer other than True or False.
    """
    pairs: list[Pair] = []
    columns = [["SENTENCE1", "context_1"], ["SENTENCE2", "context_2"], ["ANSWER", "label"]]
    for where, (*texts, answer) in table_rows(read_lines(path), name=str(path), columns=columns):
        verdict = answer.strip().lower()  # the training table has a few TRUE and FALSE
        if verdict not in ("true", "false"):
            raise FormatError(where, f"has the answer {printable(answer)!r}; expected True or False")
        first, second = map(_marked, texts)
        if first and second:
            pairs.append(Pair((first[0], second[0]), (first[1], second[1]), verdict == "true"))
    return not_empty(path, pairs)


def score_wic(system: System, parts: Sequence[Sequence[Pair]]) -> Measured:
    """Accuracy in percent on each of PARTS, with the best threshold for the training pairs, for each layer and mix."""
    nearness = [_cosines(system.layers, pairs) for pairs in parts]
    gold = [np.array([pair.is_same for pair in pairs]) for pairs in parts]
    rows: dict[str, dict[str, float]] = {}
    test_hits: dict[str, str] = {}
    for row in nearness[0]:
        threshold = best_threshold(nearness[0][row], gold[0])
        hits = [(of_part[row] >= threshold) == same for of_part, same in zip(nearness, gold, strict=True)]
        rows[row] = {part: 100 * float(of_part.mean()) for part, of_part in zip(PARTS, hits, strict=True)}
        test_hits[row] = as_hits(hits[2])
    return Measured(rows, test_hits)


def best_threshold(nearness: Float64[np.ndarray, " N"], is_same: Bool[np.ndarray, " N"]) -> float:
    """The smallest cosine that counts as the same sense, such that most pairs are right; the lowest of several."""
    same, other, values = np.sort(nearness[is_same]), np.sort(nearness[~is_same]), np.unique(nearness)
    thresholds = np.concatenate([[-np.inf], (values[:-1] + values[1:]) / 2, [np.inf]])
    num_right = np.searchsorted(other, thresholds) + len(same) - np.searchsorted(same, thresholds)
    return float(thresholds[num_right.argmax()])


def _cosines(layers: VectorSource, pairs: Sequence[Pair]) -> dict[str, Float64[np.ndarray, " N"]]:
    sentences = [tokens for pair in pairs for tokens in pair.tokens]
    indices = [index for pair in pairs for index in pair.indices]
    targets = [Target(number, index, index + 1) for number, index in enumerate(indices)]
    vectors = target_vectors(layers, sentences, targets)
    rows = mixes(layers.num_layers).items()
    units = {row: unit_vectors(mix(vectors).astype(np.float64)) for row, mix in rows}
    return {row: (each[0::2] * each[1::2]).sum(axis=1) for row, each in units.items()}


def _marked(text: str) -> tuple[list[str], int] | None:
    """Tokens of a text without its brackets, and the index of the token in which the word in brackets begins."""
    before, opening, rest = text.partition("[")
    word, closing, after = rest.partition("]")
    if not (opening and closing and word.strip()):
        return None
    plain = before + word + after
    start = len(before) + len(word) - len(word.lstrip())
    tokens = tokenize(plain)
    ends = (end for _, end in token_offsets(plain, tokens))
    return next(((tokens, index) for index, end in enumerate(ends) if end > start), None)


TABLE = SystemTable(
    name="wic",
    paper=WIC,
    compute=partial(compute, name="wic"),
    row=lambda result, row: OurRow(row, result.label, (result.cell(row, "test"),)),
    title="By part",
    about="Accuracy in percent. The threshold on the cosine is the best one for the training pairs.",
    pairs=TOP_LAYER_OVER_OTHERS,
    differences="Test set, in points.",
)
KOBEST_TABLE = replace(TABLE, name="kobest", paper=KOBEST_WIC, compute=partial(compute, name="kobest"))
