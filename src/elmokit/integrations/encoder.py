"""A system to compare with ELMo: how to open its model, and the layers that it gives for sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from elmokit.model.vector_source import VectorSource, padded_layers
from elmokit.system.paths import file_digest

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float, Float32
    from torch import Tensor

    Sentences = Sequence[Sequence[str]]
    Encode = Callable[[Sentences], Sequence[Float32[np.ndarray, "L T E"]]]


@dataclass(eq=False)
class SystemLayers:
    """A `VectorSource` of a system that encodes sentences on demand."""

    encode: Encode
    """Sentences -> the layers (L,T,E) of each."""
    num_layers: int
    dim: int
    files: Sequence[Path]
    """Files that the vectors depend on."""
    settings: str = ""
    """Other settings that they depend on, for the fingerprint."""
    prepare: Callable[[Iterable[Sequence[str]]], None] | None = None
    """Called with sentences that will be needed, for systems that read their vectors from a large file."""

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Prepare sentences that will be needed."""
        if self.prepare is not None:
            self.prepare(sentences)

    def __call__(self, sentences: Sentences) -> Float[Tensor, "L B T E"]:
        """Layers in float32 on the CPU, zero at padding."""
        return padded_layers(self.encode(sentences), num_layers=self.num_layers, dim=self.dim)

    def fingerprint(self) -> str:
        """A hash of the contents of all files and of the settings."""
        digest = hashlib.blake2b(self.settings.encode(), digest_size=32)
        for path in self.files:
            digest.update(file_digest(path))
        return digest.hexdigest()


@dataclass(frozen=True)
class Comparator:
    """How to open the model of a system. `paper/comparators/all_comparators.py` lists them."""

    name: str
    """Name on the command line: `elmokit embed --with NAME:MODEL`."""
    opens: str
    """What MODEL is, in words."""
    open: Callable[..., VectorSource]
    """Opens MODEL. Raises OSError or ValueError if it is not a model."""
    takes_device: bool = False
    """Whether `open` has a keyword argument `device`."""
