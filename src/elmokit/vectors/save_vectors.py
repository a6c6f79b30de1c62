"""Vectors of another system as flat `.npy` files in float16, with their sentences in `NAME.npy.tokens.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.atomic import atomic_write
from elmokit.files.locks import lock
from elmokit.system.messages import first_token
from elmokit.system.paths import expanded
from elmokit.vectors.flat import fits_float16, npy_start, offsets_path, tokens_first, tokens_path, write_array
from elmokit.vectors.writer import check_is_new

if TYPE_CHECKING:
    from jaxtyping import Float

_NOT_IN_A_TOKEN = re.compile("[ \\t\\r\\n\\0\\ud800-\\udfff]|^\\ufeff")


def save_vectors(
    path: str | Path,
    sentences: Sequence[Sequence[str]],
    layers: Iterable[Float[np.ndarray, "*L T E"]],
    *,
    overwrite: bool = False,
) -> None:
    """Write vectors of another system, so that tasks can read them instead of ELMo's. `load_vectors` reads them too.

    The files `NAME.npy`, `NAME.offsets.npy` and `NAME.npy.tokens.txt` are written atomically.

    layers: the vectors of each sentence in turn, (T,E) or (L,T,E); they are rounded to float16.
    overwrite: whether to replace files with these names; otherwise raises FileExistsError if they exist.
    Raises ValueError for a path that does not end in `.npy`, a token that is empty or that a line of tokens cannot hold
    (one with a space, for instance), more or fewer arrays than sentences, vectors whose shape does not fit their
    sentence, and numbers that float16 cannot hold; OSError if the disk is full, and InUseError, an OSError, if another
    process writes these files.
    """
    path = expanded(path)
    if path.suffix != ".npy":
        raise ValueError(
            f"{path} does not end in .npy; the files are NAME.npy, NAME.offsets.npy and NAME.npy.tokens.txt"
        )
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise ValueError(f"sentence {number} is the string {first_token(sentence)}; expected a list of tokens")
        if any(not token or _NOT_IN_A_TOKEN.search(token) for token in sentence):
            raise ValueError(
                "a token is empty, contains white space, NUL or half of a character, or begins with a byte order "
                f"mark: {list(sentence)}"
            )
    check_is_new(path, offsets_path(path), tokens_path(path), overwrite=overwrite)
    with lock(path), atomic_write(tokens_path(path)) as text_path:
        text_path.write_text("".join(f"{' '.join(sentence)}\n" for sentence in sentences), encoding="utf-8")
        write_sentences(path, layers, lengths=[len(sentence) for sentence in sentences])


def write_sentences(path: Path, arrays: Iterable[Float[np.ndarray, "*L T E"]], *, lengths: Sequence[int]) -> None:
    """Write both files in float16, one sentence at a time: its vectors (T,E) or (L,T,E), with T from `lengths`."""
    ends = np.cumsum([0, *lengths], dtype=np.int64)
    first: tuple[int, ...] = ()
    with atomic_write(path) as vectors_path, atomic_write(offsets_path(path)) as unfinished_offsets:
        with vectors_path.open("wb") as file:
            for number, (length, given) in enumerate(zip_longest(lengths, arrays)):
                if given is None or length is None:
                    found = number if given is None else "more"
                    raise ValueError(f"{len(lengths)} sentences, but {found} arrays; expected one for each")
                array = np.asarray(given)
                first = first or array.shape
                if len(first) not in (2, 3) or array.shape != (*first[:-2], length, first[-1]):
                    raise ValueError(
                        f"sentence {number} has {length} tokens, but vectors of shape {array.shape}; expected (T,E) or "
                        f"(L,T,E), with the same L and E as sentence 0, of shape {first}"
                    )
                if not fits_float16(array):
                    raise ValueError(f"sentence {number}: its vectors are not finite, or beyond the range of float16")
                if number == 0:
                    file.write(npy_start((int(ends[-1]), *first[:-2], first[-1]), np.float16))
                file.write(tokens_first(array).astype(np.float16).tobytes())
        if not first:
            raise ValueError("there are no sentences; expected at least one")
        with unfinished_offsets.open("wb") as file:
            write_array(file, ends)
