"""What `ElmoEmbedding` needs of layers that training does not change: a cache of activations, or a file of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jaxtyping import Float
    from torch import Tensor


class FrozenLayers(Protocol):
    """Sentences -> layers (L,B,T,E) in float32 on the CPU, zero at padding; the same for the same sentence always.

    `vectors/` has two: activations of a frozen biLM, computed once, and vectors that another system has made.
    """

    num_layers: int
    """L, the layer of token representations included."""
    dim: int
    """E, the width of a layer."""

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Prepare sentences that will be asked for; ValueError for those that cannot be had."""
        ...

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]: ...

    def fingerprint(self) -> str:
        """Equal for layers that give equal vectors."""
        ...
