"""Vectors as text, for R, pandas, gensim and spreadsheets: tables of tokens or words, and word2vec's text format.

Numbers have nine significant digits. They give back the same float32, bit for bit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from elmokit.files.atomic import atomic_write
from elmokit.system.messages import printable
from elmokit.text.corpora.tables import as_tsv

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from elmokit.vectors.flat import FlatVectors

    TypeVector = tuple[str, int, Float[np.ndarray, " E"]]
    """A word, its number of occurrences, and its vector."""

START_OF_TSV = b"sentence_id\ttoken_id\t"
_NOT_IN_WORD2VEC = re.compile(r"[ \t\r\n]")


def write_tsv(path: Path, stored: FlatVectors) -> None:
    """Write a table atomically, with a row for each token: numbers of sentence and token, the token, and its vector.

    Sentences and tokens are numbered from 1, as in the tables of `elmokit surprisal`. With several layers, a token has
    a row for each layer. Tables of FASTA files have no column of tokens.
    """
    names = ["sentence_id", "token_id"] + ["token"] * (stored.texts is not None)
    names += ["layer"] * (stored.num_layers is not None)
    with atomic_write(path) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
        _write_header(file, names, stored.dim)
        texts = None if stored.texts is None else iter(stored.texts)
        for sentence in range(len(stored)):
            array = stored.vectors[stored.offsets[sentence] : stored.offsets[sentence + 1]]
            tokens = None if texts is None else next(texts)[1]
            for place, of_token in enumerate(array):
                cells = [str(sentence + 1), str(place + 1), *([] if tokens is None else [tokens[place]])]
                if of_token.ndim == 1:
                    file.write(_row(cells, of_token))
                else:
                    file.writelines(_row([*cells, str(layer)], vector) for layer, vector in enumerate(of_token))


def write_type_table(file: IO[str], words: Iterable[TypeVector], *, num_words: int, dim: int) -> None:
    """Write a table with a row for each word: the word, its number of occurrences, and its vector."""
    _write_header(file, ["word", "count"], dim)
    file.writelines(_row([word, str(count)], vector) for word, count, vector in words)


def write_word2vec(file: IO[str], words: Iterable[TypeVector], *, num_words: int, dim: int) -> None:
    """Write word2vec's text format: a line with the number of words and the width, then each word and its vector."""
    file.write(f"{num_words} {dim}\n")
    file.writelines(f"{word} {' '.join(_numbers(vector))}\n" for word, _, vector in words)


def check_word2vec(words: Iterable[str]) -> None:
    """Raise ValueError for words that the format cannot hold: empty ones, and ones with a space, tab or line end."""
    for word in words:
        if not word or _NOT_IN_WORD2VEC.search(word):
            raise ValueError(
                f"the word {printable(repr(word))} is empty or has white space in it, which word2vec's format cannot "
                "hold; write a .tsv file"
            )


def _write_header(file: IO[str], names: Sequence[str], dim: int) -> None:
    file.write(as_tsv([[*names, *(f"v{number}" for number in range(1, dim + 1))]]))


def _row(cells: Sequence[str], vector: Float[np.ndarray, " E"]) -> str:
    return "\t".join([as_tsv([cells])[:-1], *_numbers(vector)]) + "\n"  # numbers need no quotes


def _numbers(vector: Float[np.ndarray, " E"]) -> Iterator[str]:
    return (f"{number:.9g}" for number in vector.tolist())
