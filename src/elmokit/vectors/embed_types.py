"""A file of sentences -> a text file with one vector for each word: its average (`elmokit embed --types`).

These are static vectors made with a biLM (Bommasani et al., 2020).
"""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.elmo.encoding import DEFAULT_LAYERS, as_layers
from elmokit.files.atomic import atomic_write
from elmokit.files.lines import shown_name
from elmokit.files.locks import lock
from elmokit.system.paths import expanded
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.vectors.embed_file import encoded_blocks
from elmokit.vectors.sources import open_source, read_again
from elmokit.vectors.text_tables import check_word2vec, write_type_table, write_word2vec
from elmokit.vectors.writer import check_outputs

if TYPE_CHECKING:
    from elmokit.elmo.elmo import Elmo
    from elmokit.elmo.encoding import Layers

_WRITERS = {".vec": write_word2vec, ".tsv": write_type_table}


@dataclass(frozen=True)
class EmbeddedTypes:
    """The size of an output file, and of the text."""

    num_types: int
    num_tokens: int
    """Tokens of the text, including occurrences of words that are left out."""


def embed_types(
    elmo: Elmo,
    input_path: str | Path,
    output_path: str | Path,
    *,
    layers: Layers = DEFAULT_LAYERS,
    batch_size: int = 128,
    raw_text: bool = False,
    split_sentences: bool = False,
    column: str | None = None,
    as_text: bool = False,
    min_count: int = 5,
    overwrite: bool = False,
) -> EmbeddedTypes:
    """Write each word's average vector over its occurrences in a text. The output is text, most frequent word first.

    output_path: .vec for word2vec's text format (for gensim, fastText's tools and `elmokit embed --with static:`),
        or .tsv for a table with the columns `word`, `count`, `v1`, `v2`, ...
    layers: as in `Elmo.encode`, but not "all".
    min_count: leave out words with fewer occurrences.
    The other arguments are the same as for `embed_file`. Memory holds the sums of the words that are written, but not
    the text. Raises ValueError if no word is left, and as `embed_file` does. After an error, no output is left.
    """
    output = expanded(output_path)
    if output.suffix not in _WRITERS:
        raise ValueError(f"{output}: word vectors are text; expected a name that ends in {' or '.join(_WRITERS)}")
    layers = as_layers(layers, top=elmo.config.num_layers)
    if layers == "all":
        raise ValueError(
            "layers is 'all'; a word has one vector, of 'top', 'average', the number of a layer, or a weight for each"
        )
    if min_count < 1:
        raise ValueError(f"min_count is {min_count}; expected at least 1")
    source = open_source(input_path, raw_text=raw_text, column=column, split_sentences=split_sentences, as_text=as_text)
    check_outputs(output, source=source.path, overwrite=overwrite)
    encode = functools.partial(elmo.encode, layers=layers, batch_size=batch_size, show_progress_bar=False)
    with lock(output), read_again(source, folder=output.parent) as read:
        reading = progress_bar(unit=" lines", label="reading", keep=False, scale=True)
        counts = Counter(token for _, tokens in counted(read(True), reading) for token in tokens)
        num_tokens = counts.total()
        words = [word for word, count in counts.most_common() if count >= min_count]
        if not words:
            raise ValueError(
                f"no word of {shown_name(source.path)} occurs at least {min_count} times; lower --min-count (min_count)"
            )
        if output.suffix == ".vec":
            check_word2vec(words)
        # float64, because float32 loses a hundredth of a sum of a million; adding to -0 leaves every number unchanged
        sums = {word: np.full(elmo.dim, -0.0) for word in words}
        with progress_bar(unit="token", total=num_tokens, scale=True) as bar:
            for _, block, arrays in encoded_blocks(elmo, encode, read(False)):
                for (_, tokens), array in zip(block, arrays, strict=True):
                    for token, vector in zip(tokens, array, strict=True):
                        if token in sums:
                            sums[token] += vector
                    bar.update(len(tokens))
        with atomic_write(output) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as file:
            vectors = ((word, counts[word], (sums[word] / counts[word]).astype(np.float32)) for word in words)
            _WRITERS[output.suffix](file, vectors, num_words=len(words), dim=elmo.dim)
        return EmbeddedTypes(len(words), num_tokens)
