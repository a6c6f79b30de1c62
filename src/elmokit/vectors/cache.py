"""Layer activations of a frozen biLM, computed once per sentence and kept on disk, in float16, memory-mapped.

The cache has a folder for each model, by its fingerprint. What is added at once is a piece of it: vectors as
`save_vectors` writes them, in `NAME.npy` and `NAME.offsets.npy`, and `NAME.keys.npy`, 128 bits of hash of each
sentence's tokens. Nothing removes pieces; a folder can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from elmokit.system.batches import batched
from elmokit.system.files import atomic_write
from elmokit.system.progress import progress_bar
from elmokit.vectors.arrays import fits_float16, map_npy, write_array
from elmokit.vectors.npy import read_npy, write_sentences
from elmokit.vectors.padded import padded_layers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jaxtyping import Float, Float16
    from torch import Tensor

    from elmokit.model.elmo import Elmo
    from elmokit.vectors.stored import FlatVectors

VERSION = "activations-2"
SENTENCES_PER_BATCH = 1024
"""Encoded before they are written; bounds the memory."""

Key = bytes


def default_cache() -> Path:
    """`~/.cache/elmokit`, or in the folder that XDG_CACHE_HOME names."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elmokit"


class Activations:
    """Sentences of tokens -> layer activations (L,B,T,2D) of a frozen biLM, rounded to float16.

    folder: the cache, of any number of models and data sets; None keeps a temporary one, with the same results.

    A sentence's activations are those of the batch that it was first encoded in; another batch changes nothing where
    `Elmo.same_in_any_batch`, and elsewhere the rounding.
    """

    def __init__(self, elmo: Elmo, *, folder: Path | None) -> None:
        self.elmo = elmo
        self.num_layers = elmo.config.num_layers + 1
        self.dim = elmo.config.output_dim
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="elmokit-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder / VERSION / elmo.fingerprint()
        self._kept: dict[Key, tuple[FlatVectors, int]] = {}  # the piece that a sentence is in, and its number there
        self._pieces: set[Path] = set()

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Encode what the cache lacks, all at once, and keep it there."""
        self._open_pieces()
        new: dict[Key, Sequence[str]] = {}
        for sentence in sentences:
            key = _key(sentence)
            if key not in self._kept:
                new.setdefault(key, sentence)
        if new:
            self._write_piece(new)
            self._open_pieces()

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        """In float32 on the CPU, zero at padding; a sentence that was not added is encoded and not kept."""
        keys = [_key(sentence) for sentence in sentences]
        unknown = {key: sentence for key, sentence in zip(keys, sentences, strict=True) if key not in self._kept}
        encoded = dict(zip(unknown, self._encode(list(unknown.values())), strict=True)) if unknown else {}
        arrays = [encoded[key] if key in encoded else self._read(key) for key in keys]
        return padded_layers(arrays, num_layers=self.num_layers, dim=self.dim)

    def fingerprint(self) -> str:
        """The biLM's."""
        return self.elmo.fingerprint()

    def _encode(self, sentences: list[Sequence[str]]) -> list[Float16[np.ndarray, "L T E"]]:
        encoded = self.elmo.encode(sentences, layers="all", show_progress=False)
        for sentence, layers in zip(sentences, encoded, strict=True):
            if not fits_float16(layers):
                raise ValueError(f"activations beyond what float16 holds, in the sentence {' '.join(sentence)[:80]!r}")
        return [layers.astype(np.float16) for layers in encoded]

    def _read(self, key: Key) -> Float16[np.ndarray, "L T E"]:
        piece, number = self._kept[key]
        return piece[number]

    def _write_piece(self, new: dict[Key, Sequence[str]]) -> None:
        """The keys are written last: a piece without them is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        keys = b"".join(new)
        path = self.folder / f"{hashlib.blake2b(keys, digest_size=16).hexdigest()}.npy"
        lengths = [len(sentence) for sentence in new.values()]
        num_bytes = np.dtype(np.float16).itemsize * sum(lengths) * self.num_layers * self.dim
        label = f"activations ({num_bytes / 1e6:,.0f} MB)"
        with progress_bar(unit="sentence", total=len(lengths), label=label) as bar:
            write_sentences(path, self._encode_all(new.values(), bar.update), lengths=lengths)
        with atomic_write(_keys_path(path)) as unfinished, unfinished.open("wb") as file:
            write_array(file, np.frombuffer(keys, np.uint64).reshape(-1, 2))

    def _encode_all(
        self, sentences: Iterable[Sequence[str]], when_done: Callable[[int], object]
    ) -> Iterator[Float16[np.ndarray, "L T E"]]:
        for batch in batched(sentences, size=SENTENCES_PER_BATCH):
            yield from self._encode(batch)
            when_done(len(batch))

    def _open_pieces(self) -> None:
        for keys_path in sorted(self.folder.glob("[!.]*.keys.npy")):
            if keys_path not in self._pieces:
                self._open_piece(keys_path.with_name(keys_path.name.replace(".keys", "")), keys_path)
                self._pieces.add(keys_path)

    def _open_piece(self, path: Path, keys_path: Path) -> None:
        try:
            piece, keys = read_npy(path), map_npy(keys_path)
        except (ValueError, FileNotFoundError) as error:
            raise ValueError(f"{error}; delete {path.stem}.* in {self.folder}, and they are made again") from None
        same_layers = (piece.num_layers, piece.dim) == (self.num_layers, self.dim)
        if keys.shape != (len(piece), 2) or keys.dtype != np.uint64 or not same_layers:
            raise ValueError(
                f"{keys_path} does not fit {path.name}; delete {path.stem}.* in {self.folder}, and they are made again"
            )
        for number, key in enumerate(keys):
            self._kept.setdefault(key.tobytes(), (piece, number))


def _key(sentence: Sequence[str]) -> Key:
    return hashlib.blake2b(json.dumps(list(sentence)).encode(), digest_size=16).digest()


def _keys_path(path: Path) -> Path:
    return path.with_suffix(".keys.npy")
