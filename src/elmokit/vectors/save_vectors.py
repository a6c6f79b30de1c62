"""Saving another system's vectors in files that the tasks can read instead of ELMo's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.files.atomic import atomic_write
from elmokit.files.locks import lock
from elmokit.system.messages import first_token
from elmokit.vectors.npy import write_sentences
from elmokit.vectors.reader import tokens_path

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

_NOT_IN_A_TOKEN = re.compile("[ \\t\\r\\n\\0\\ud800-\\udfff]|^\\ufeff")


def save_vectors(
    path: str | Path, sentences: Sequence[Sequence[str]], layers: Iterable[Float[np.ndarray, "*L T E"]]
) -> None:
    """Write `NAME.npy`, `NAME.offsets.npy` and `NAME.txt` atomically; `load_vectors` reads them.

    layers: the vectors of each sentence in turn, (T,E) or (L,T,E); they are rounded to float16.

    Raises ValueError for a path that does not end in `.npy`, a token that is empty or that a line of tokens cannot hold
    (one with a space, for instance), more or fewer arrays than sentences, vectors whose shape does not fit their
    sentence, and numbers that float16 cannot hold; OSError if the disk is full, and InUseError, an OSError, if another
    process writes these files.
    """
    path = Path(path)
    if path.suffix != ".npy":
        raise ValueError(f"{path} does not end in .npy; the files are NAME.npy, NAME.offsets.npy and NAME.txt")
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str):
            raise ValueError(f"sentence {number} is the string {first_token(sentence)}; expected a list of tokens")
        if any(not token or _NOT_IN_A_TOKEN.search(token) for token in sentence):
            raise ValueError(
                "a token is empty or has a space, a tab, a line break, NUL, half of a character or, at its beginning, "
                f"a byte order mark in it: {list(sentence)}"
            )
    with lock(path), atomic_write(path.with_suffix(".txt")) as text_path:
        text_path.write_text("".join(f"{' '.join(sentence)}\n" for sentence in sentences), encoding="utf-8")
        write_sentences(path, layers, lengths=[len(sentence) for sentence in sentences])
        tokens_path(path).unlink(missing_ok=True)  # of what was there before
