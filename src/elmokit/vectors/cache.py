"""Layer activations of a frozen biLM, computed once for a sentence and kept on disk, in float16, memory-mapped.

The cache has a folder for each model, by its fingerprint. A piece of it is `NAME.npy`, the activations (L,T,2D) of
sentences one behind the other as rows of 2D numbers, and `NAME.index.npy`: for each sentence 128 bits of its tokens'
hash and its length. Nothing removes pieces; a folder can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from elmokit.system.files import atomic_write
from elmokit.system.progress import progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jaxtyping import Float, Float16, Shaped, UInt64
    from torch import Tensor

    from elmokit.model.elmo import Elmo

VERSION = "activations-1"
SENTENCES_AT_ONCE = 1024
"""Encoded before they are written; bounds the memory."""

Key = bytes


def default_cache() -> Path:
    """`~/.cache/elmokit`, or in the folder that XDG_CACHE_HOME names."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "elmokit"


@dataclass(frozen=True)
class _Place:
    """Where a sentence's rows are."""

    rows: Float16[np.ndarray, "R E"]
    start: int
    num_tokens: int


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
        self._places: dict[Key, _Place] = {}
        self._pieces: set[str] = set()

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Encode what the cache lacks, all at once, and keep it there."""
        self._open_pieces()
        new: dict[Key, Sequence[str]] = {}
        for sentence in sentences:
            key = _key(sentence)
            if key not in self._places:
                new.setdefault(key, sentence)
        if new:
            self._write_piece(new)
            self._open_pieces()

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        """In float32 on the CPU, zero at padding; a sentence that was not added is encoded and not kept."""
        keys = [_key(sentence) for sentence in sentences]
        unknown = {key: sentence for key, sentence in zip(keys, sentences, strict=True) if key not in self._places}
        encoded = dict(zip(unknown, self._encode(list(unknown.values())), strict=True)) if unknown else {}
        longest = max((len(sentence) for sentence in sentences), default=0)
        batch = np.zeros((self.num_layers, len(sentences), longest, self.dim), np.float16)
        for number, key in enumerate(keys):
            if key in encoded:
                batch[:, number, : encoded[key].shape[1]] = encoded[key]
            else:
                place = self._places[key]
                rows = place.rows[place.start : place.start + self.num_layers * place.num_tokens]
                batch[:, number, : place.num_tokens] = rows.reshape(self.num_layers, place.num_tokens, self.dim)
        return torch.from_numpy(batch).float()

    def fingerprint(self) -> str:
        """The biLM's."""
        return self.elmo.fingerprint()

    def _encode(self, sentences: list[Sequence[str]]) -> list[Float16[np.ndarray, "L T E"]]:
        encoded = self.elmo.encode(sentences, layers="all", show_progress=False)
        for sentence, layers in zip(sentences, encoded, strict=True):
            if not np.abs(layers).max(initial=0.0) <= np.finfo(np.float16).max:
                raise ValueError(f"activations beyond what float16 holds, in the sentence {' '.join(sentence)[:80]!r}")
        return [layers.astype(np.float16) for layers in encoded]

    def _write_piece(self, new: dict[Key, Sequence[str]]) -> None:
        """The index is written last: a piece without one is not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.blake2b(b"".join(new), digest_size=16).hexdigest()
        lengths = [len(sentence) for sentence in new.values()]
        num_rows = self.num_layers * sum(lengths)
        label = f"activations ({num_rows * self.dim * 2 / 1e6:,.0f} MB)"
        bar = progress_bar(unit="sentence", total=len(lengths), label=label)
        with atomic_write(self.folder / f"{name}.npy") as temporary, bar:
            rows = np.lib.format.open_memmap(temporary, "w+", np.float16, (num_rows, self.dim))
            row = 0
            for group in _groups(new.values()):
                for layers in self._encode(group):
                    rows[row : row + layers.shape[0] * layers.shape[1]] = layers.reshape(-1, self.dim)
                    row += layers.shape[0] * layers.shape[1]
                bar.update(len(group))
            rows.flush()
        index = np.empty((len(new), 3), np.uint64)
        index[:, :2] = np.frombuffer(b"".join(new), np.uint64).reshape(-1, 2)
        index[:, 2] = lengths
        with atomic_write(self.folder / f"{name}.index.npy") as temporary:
            np.save(temporary, index)

    def _open_pieces(self) -> None:
        for path in sorted(self.folder.glob("[!.]*.index.npy")):
            name = path.name.removesuffix(".index.npy")
            if name not in self._pieces:
                self._pieces.add(name)
                self._open_piece(self.folder / f"{name}.npy", path)

    def _open_piece(self, path: Path, index_path: Path) -> None:
        index: UInt64[np.ndarray, "S 3"] = _load(index_path)
        rows: Float16[np.ndarray, "R E"] = _load(path, mapped=True)
        lengths = index[:, 2].astype(np.int64)
        starts = self.num_layers * (np.cumsum(lengths) - lengths)
        if rows.shape != (self.num_layers * lengths.sum(), self.dim):
            raise ValueError(f"{path} does not fit its index; delete both, and they are made again")
        for key, start, num_tokens in zip(index[:, :2], starts.tolist(), lengths.tolist(), strict=True):
            self._places.setdefault(key.tobytes(), _Place(rows, start, num_tokens))


def _key(sentence: Sequence[str]) -> Key:
    return hashlib.blake2b(json.dumps(list(sentence)).encode(), digest_size=16).digest()


def _groups(sentences: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    rest = iter(sentences)
    while group := list(islice(rest, SENTENCES_AT_ONCE)):
        yield group


def _load(path: Path, *, mapped: bool = False) -> Shaped[np.ndarray, "..."]:
    try:
        return np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it, and it is made again") from None
