"""Interface for layers that training does not change: a cache of activations, or a file of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


class VectorSource(Protocol):
    """Sentences -> layers (L,B,T,E) in float32 on the CPU, zero at padding, always the same for the same sentence.

    `vectors/` has two implementations: cached activations of a frozen biLM, and vectors from another system.
    """

    num_layers: int
    """Number L of layers, including the token representation."""
    dim: int
    """Width E of a layer."""

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Prepare sentences that will be needed. Raises ValueError for sentences that have no vectors."""
        ...

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]: ...

    def fingerprint(self) -> str:
        """A hash that is equal for layers that give equal vectors."""
        ...
