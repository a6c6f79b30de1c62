"""A file of sentences -> a file of another system's vectors (`elmokit embed --with`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.files.atomic import check_is_not_input, check_output
from elmokit.files.lines import shown_name
from elmokit.integrations.encoder import Comparator, SystemLayers
from elmokit.integrations.fasttext import looks_like_fasttext, read_fasttext
from elmokit.integrations.transformer import HF_FIRST, HF_MEAN
from elmokit.system.batches import batched
from elmokit.system.messages import find_named, warn_caller
from elmokit.system.paths import expanded
from elmokit.system.progress_bar import progress_bar
from elmokit.vectors.embed_file import EmbeddedFile
from elmokit.vectors.file_vector_source import WordVectorSource
from elmokit.vectors.flat import tokens_path
from elmokit.vectors.save_vectors import save_vectors
from elmokit.vectors.sources import open_source

if TYPE_CHECKING:
    from jaxtyping import Float32

    from elmokit.model.vector_source import VectorSource

SENTENCES_PER_BATCH = 256
TOKENS_PER_BATCH = 8192
"""A batch with this many tokens is full even if it has fewer sentences."""


def embed_with(
    system: str,
    model: str | Path,
    input_path: str | Path,
    output_path: str | Path,
    *,
    raw_text: bool = False,
    column: str | None = None,
    as_text: bool = False,
    device: str | None = None,
    overwrite: bool = False,
) -> EmbeddedFile:
    """Write another system's vectors for every line of a text file. Tasks read them with `--model OUTPUT`.

    system: `static` (word vectors), `hf-first` or `hf-mean` (transformers); docs/comparators.md.
    model: the file or folder of the system's model.
    output_path: `NAME.npy`, as `save_vectors` writes it, with `NAME.offsets.npy` and the tokens in
        `NAME.npy.tokens.txt`.
    raw_text: whether to tokenise the lines; otherwise their tokens are separated by spaces.
    column, as_text, overwrite: as in `embed_file`.
    device: of a transformer; by default the GPU if there is one.
    Raises ValueError for an unknown system, a model of another kind, input that is not text, and an output whose tokens
    would overwrite one of these files; OSError for files that cannot be read or written. Warns if most tokens get
    zeros, because the system has no vectors for them.
    """
    output_path = expanded(output_path)
    check_paths(output_path, input_path, model)
    found = find_system(SYSTEMS, system, str(model))
    if device is not None and not found.takes_device:
        raise ValueError(f"{system} does not use a device; leave out --device, or device={device!r}")
    opened = found.open(str(model), device=device) if found.takes_device else found.open(str(model))
    return write_vectors(
        opened,
        input_path,
        output_path,
        model=model,
        raw_text=raw_text,
        column=column,
        as_text=as_text,
        overwrite=overwrite,
    )


def find_system(systems: Mapping[str, Comparator], name: str, model: str) -> Comparator:
    """Find a system by name. Raises ValueError, suggesting the nearest name, if there is none, and without a model."""
    system = find_named(systems, name, what="system")
    if not model:
        raise ValueError(f"{name} needs a model: {system.opens}")
    return system


def check_paths(output_path: str | Path, *inputs: str | Path) -> None:
    """Raise OSError or ValueError if the output cannot be written, or if its tokens would overwrite an input."""
    check_output(output_path)
    check_is_not_input(tokens_path(Path(output_path)), *inputs)


def write_vectors(
    layers: VectorSource,
    input_path: str | Path,
    output_path: str | Path,
    *,
    model: str | Path,
    raw_text: bool,
    column: str | None = None,
    as_text: bool = False,
    overwrite: bool = False,
) -> EmbeddedFile:
    """Write a system's layers for every line of a text file. The warning calls the system `model`."""
    source = open_source(input_path, raw_text=raw_text, column=column, as_text=as_text)
    sentences = [tokens for _, tokens in source.read(True)]
    if not sentences:
        raise ValueError(f"{shown_name(input_path)} has no lines; expected one sentence per line")
    layers.add(sentences)
    save_vectors(output_path, sentences, _encoded(layers, sentences, model=model), overwrite=overwrite)
    return EmbeddedFile(len(sentences), sum(map(len, sentences)))


def _encoded(
    layers: VectorSource, sentences: list[list[str]], *, model: str | Path
) -> Iterator[Float32[np.ndarray, "L T E"]]:
    """Yield the vectors of each sentence. Warn at the end if most tokens have zeros."""
    num_found = 0
    with progress_bar(unit="sentence", total=len(sentences)) as bar:
        for batch in batched(sentences, size=SENTENCES_PER_BATCH, weight=len, enough_weight=TOKENS_PER_BATCH):
            vectors = layers(batch).numpy()
            num_found += int(vectors.any(axis=(0, 3)).sum())
            yield from (vectors[:, number, : len(sentence)] for number, sentence in enumerate(batch))
            bar.update(len(batch))
    num_tokens = sum(map(len, sentences))
    if 2 * num_found < num_tokens:
        warn_caller(
            f"{num_tokens - num_found:,} of {num_tokens:,} tokens have no vector in {model}, and got zeros; is the "
            "model for this language, and are model and text both in Unicode NFC?"
        )


def open_static(model: str) -> VectorSource:
    """Open one layer of word vectors. The contents of the file show its format.

    A word that is missing in a text or word2vec file is looked up in lower case, and gets zeros if that is missing too.
    A word that is missing in fastText's `.bin` gets a vector from its character n-grams. Raises OSError, and ValueError
    for a file of another kind.
    """
    path = expanded(model)  # a shell does not expand static:~/FILE
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected word vectors")
    return _open_fasttext(path) if looks_like_fasttext(path) else WordVectorSource(path)


def _open_fasttext(path: Path) -> SystemLayers:
    model = read_fasttext(path)
    known: dict[str, Float32[np.ndarray, " D"]] = {}

    def encode(sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        for word in {word for sentence in sentences for word in sentence} - known.keys():
            known[word] = model.vector(word)
        empty = np.zeros((0, model.dim), np.float32)
        return [np.stack([known[word] for word in each])[None] if each else empty[None] for each in sentences]

    return SystemLayers(encode, num_layers=1, dim=model.dim, files=[path], settings="fasttext")


STATIC = Comparator(name="static", opens="a file of word2vec, GloVe or fastText (.vec or .bin)", open=open_static)
SYSTEMS: dict[str, Comparator] = {system.name: system for system in (STATIC, HF_FIRST, HF_MEAN)}
