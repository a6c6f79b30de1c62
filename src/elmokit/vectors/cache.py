"""Cache of a frozen biLM's layer activations: computed once per sentence, kept on disk in float16, memory-mapped.

The cache has a folder for each model, named after its fingerprint and, if it is not float32, its precision. Sentences
that are added together form a piece. `NAME.npy` and `NAME.offsets.npy` hold its vectors as `save_vectors` writes them,
`NAME.keys.npy` holds a 128-bit hash of each sentence's tokens. If a new piece would exceed the cache's limit, the least
recently used pieces are removed first.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from elmokit.files.atomic import atomic_write, remove_leftovers, temporary_folder
from elmokit.model.vector_source import padded_layers
from elmokit.system.batches import batched
from elmokit.system.messages import first_token
from elmokit.system.paths import cache_limit, make_room
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.vectors.cache_folder import KEYS_ENDING, VERSION, cached_pieces
from elmokit.vectors.flat import fits_float16, map_npy, read_npy, write_array
from elmokit.vectors.save_vectors import write_sentences

if TYPE_CHECKING:
    from jaxtyping import Float, Float16
    from torch import Tensor

    from elmokit.elmo.elmo import Elmo
    from elmokit.vectors.flat import FlatVectors

SENTENCES_PER_BATCH = 1024
"""Sentences to encode before they are written. This bounds the memory."""

Key = bytes

_OTHER_FOLDER = (
    "choose another folder for the cache of activations (XDG_CACHE_HOME, --cache DIR or cache=DIR), or use none "
    "(--no-cache or cache=None)"
)


class CachedActivations:
    """Sentences of tokens -> layer activations (L,B,T,2D) of a frozen biLM, rounded to float16.

    folder: the cache, for any number of models, data sets and processes; None uses a temporary one, with the same
        results. The whole cache has at most `cache_limit()` bytes, or the size of the last addition if it is larger.

    The cache keeps a sentence's activations from the first batch that contains it. In another batch, the activations
    would be the same if `Elmo.same_in_any_batch`, and otherwise the same up to rounding.
    """

    def __init__(self, elmo: Elmo, *, folder: Path | None) -> None:
        self.elmo = elmo
        self.num_layers: Final = elmo.num_layers
        self.dim: Final = elmo.dim
        cache_limit()  # raises its errors before anything is computed
        self._given_folder = folder
        if folder is None:
            held = ExitStack()
            folder = held.enter_context(temporary_folder(Path(tempfile.gettempdir()) / "elmokit-activations"))
            folder.chmod(0o700)  # embedded text may be private
            weakref.finalize(self, held.close)
        exact = elmo.precision == "float32"
        self._fingerprint = elmo.fingerprint(recompute=True)
        self.folder: Final = folder / VERSION / (self._fingerprint + ("" if exact else f"-{elmo.precision}"))
        self._kept: dict[Key, tuple[Path, int]] = {}  # the piece that holds a sentence, and its number in it
        self._pieces: dict[Path, FlatVectors] = {}

    def __reduce__(self) -> tuple[Callable[..., CachedActivations], tuple[object, ...]]:
        """A copy opens the cache again. The copy of a temporary cache starts empty."""
        return partial(CachedActivations, folder=self._given_folder), (self.elmo,)

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Encode the sentences that the cache lacks, and add them to it as one piece."""
        remove_leftovers(self.folder)
        self._open_pieces()
        new: dict[Key, Sequence[str]] = {}
        used: set[Path] = set()
        for sentence in sentences:
            key = _key(sentence)
            if key in self._kept:
                used.add(self._kept[key][0])
            else:
                new.setdefault(key, sentence)
        for path in used:
            with suppress(OSError):  # the cache may be read-only, or another process removed the piece
                os.utime(path.with_suffix(KEYS_ENDING))  # `make_room` removes the least recently used pieces first
        if new:
            try:
                self._write_piece(new)
            except OSError as error:
                if self._given_folder is not None and error.errno is not None:
                    error.strerror = f"{error.strerror}; {_OTHER_FOLDER}"
                raise
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
        return self._fingerprint

    def _encode(self, sentences: list[Sequence[str]]) -> list[Float16[np.ndarray, "L T E"]]:
        if self.elmo.fingerprint() != self._fingerprint:
            raise ValueError("the biLM's weights have changed since this cache was opened; open it again")
        encoded = self.elmo.encode(sentences, layers="all", show_progress_bar=False)
        for sentence, layers in zip(sentences, encoded, strict=True):
            if not fits_float16(layers):
                raise ValueError(
                    f"activations beyond the range of float16 in the sentence {first_token(' '.join(sentence))}"
                )
        return [layers.astype(np.float16) for layers in encoded]

    def _read(self, key: Key) -> Float16[np.ndarray, "L T E"]:
        path, number = self._kept[key]
        layers = self._pieces[path][number]
        if not np.isfinite(layers).all():  # only finite numbers were written
            raise ValueError(f"{path}: sentence {number}: holds numbers that are not finite; {_how_to_mend(path)}")
        return layers

    def _write_piece(self, new: dict[Key, Sequence[str]]) -> None:
        """Write a piece. Its keys are written last, and a piece without them does not count."""
        self.folder.mkdir(parents=True, exist_ok=True)
        keys = b"".join(new)
        path = self.folder / f"{hashlib.blake2b(keys, digest_size=16).hexdigest()}.npy"
        lengths = [len(sentence) for sentence in new.values()]
        num_bytes = np.dtype(np.float16).itemsize * sum(lengths) * self.num_layers * self.dim
        make_room(cached_pieces(self.folder.parents[1]), num_bytes=num_bytes)
        label = f"activations ({num_bytes / 1e6:,.0f} MB)"
        bar = progress_bar(unit="sentence", total=len(lengths), label=label)
        batches = batched(new.values(), size=SENTENCES_PER_BATCH)
        layers = (layers for batch in batches for layers in self._encode(batch))
        write_sentences(path, counted(layers, bar), lengths=lengths)
        with atomic_write(path.with_suffix(KEYS_ENDING)) as unfinished, unfinished.open("wb") as file:
            write_array(file, np.frombuffer(keys, np.uint64).reshape(-1, 2))

    def _open_pieces(self) -> None:
        for keys_path in sorted(self.folder.glob(f"[!.]*{KEYS_ENDING}")):
            path = keys_path.with_name(keys_path.name.removesuffix(KEYS_ENDING) + ".npy")
            if path in self._pieces:
                continue
            try:
                piece, keys = read_npy(path), map_npy(keys_path)
            except FileNotFoundError:
                continue  # another process has removed it, so its sentences are new again
            except ValueError as error:
                raise ValueError(f"{error}; {_how_to_mend(path)}") from None
            same_layers = (piece.num_layers, piece.dim) == (self.num_layers, self.dim)
            if keys.shape != (len(piece), 2) or keys.dtype != np.uint64 or not same_layers:
                raise ValueError(f"{keys_path} does not match {path.name}; {_how_to_mend(path)}")
            self._pieces[path] = piece
            for number, key in enumerate(keys):
                self._kept.setdefault(key.tobytes(), (path, number))


def _key(sentence: Sequence[str]) -> Key:
    return hashlib.blake2b(json.dumps(list(sentence)).encode(), digest_size=16).digest()


def _how_to_mend(path: Path) -> str:
    return f"delete {path.stem}.* in {path.parent} to compute them again"
