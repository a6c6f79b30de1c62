"""Cache of a frozen biLM's layer activations: computed once per sentence, kept on disk in float16, memory-mapped.

The cache has a folder for each model, named by its fingerprint. Sentences that are added together are a piece of it:
`NAME.npy` and `NAME.offsets.npy`, vectors as `save_vectors` writes them, and `NAME.keys.npy`, a 128-bit hash of each
sentence's tokens. Pieces are never removed; a folder can be deleted at any time.
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
"""Sentences that are encoded before they are written, which bounds the memory."""

Key = bytes


def default_cache() -> Path:
    """The folder `~/.cache/elmokit`, or `elmokit` in the folder that XDG_CACHE_HOME names."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elmokit"


class Activations:
    """Sentences of tokens -> layer activations (L,B,T,2D) of a frozen biLM, rounded to float16.

    folder: the cache, for any number of models and data sets; None uses a temporary one, with the same results.

    A sentence's activations are those of the batch in which it was first encoded. Another batch would change nothing if
    `Elmo.same_in_any_batch`, and otherwise only the rounding.
    """

    def __init__(self, elmo: Elmo, *, folder: Path | None) -> None:
        self.elmo = elmo
        self.num_layers = elmo.config.num_layers + 1
        self.dim = elmo.config.output_dim
        if folder is None:
            folder = Path(tempfile.mkdtemp(prefix="elmokit-"))
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.folder = folder / VERSION / elmo.fingerprint()
        self._kept: dict[Key, tuple[FlatVectors, int]] = {}  # the piece that holds a sentence, and its number in it
        self._pieces: set[Path] = set()

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Encode the sentences that the cache lacks, and add them to it as one piece."""
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
        """Layers in float32 on the CPU, zero at padding. A sentence that was not added is encoded but not kept."""
        keys = [_key(sentence) for sentence in sentences]
        unknown = {key: sentence for key, sentence in zip(keys, sentences, strict=True) if key not in self._kept}
        encoded = dict(zip(unknown, self._encode(list(unknown.values())), strict=True)) if unknown else {}
        arrays = [encoded[key] if key in encoded else self._read(key) for key in keys]
        return padded_layers(arrays, num_layers=self.num_layers, dim=self.dim)

    def fingerprint(self) -> str:
        """Fingerprint of the biLM."""
        return self.elmo.fingerprint()

    def _encode(self, sentences: list[Sequence[str]]) -> list[Float16[np.ndarray, "L T E"]]:
        encoded = self.elmo.encode(sentences, layers="all", show_progress=False)
        for sentence, layers in zip(sentences, encoded, strict=True):
            if not fits_float16(layers):
                raise ValueError(f"activations beyond the range of float16 in the sentence {' '.join(sentence)[:80]!r}")
        return [layers.astype(np.float16) for layers in encoded]

    def _read(self, key: Key) -> Float16[np.ndarray, "L T E"]:
        piece, number = self._kept[key]
        return piece[number]

    def _write_piece(self, new: dict[Key, Sequence[str]]) -> None:
        """Write a piece; its keys come last, so a piece without them does not count."""
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
            raise ValueError(f"{error}; delete {path.stem}.* in {self.folder} to compute them again") from None
        same_layers = (piece.num_layers, piece.dim) == (self.num_layers, self.dim)
        if keys.shape != (len(piece), 2) or keys.dtype != np.uint64 or not same_layers:
            raise ValueError(
                f"{keys_path} does not fit {path.name}; delete {path.stem}.* in {self.folder} to compute them again"
            )
        for number, key in enumerate(keys):
            self._kept.setdefault(key.tobytes(), (piece, number))


def _key(sentence: Sequence[str]) -> Key:
    return hashlib.blake2b(json.dumps(list(sentence)).encode(), digest_size=16).digest()


def _keys_path(path: Path) -> Path:
    return path.with_suffix(".keys.npy")
