"""Input and output of `Elmo.encode`: checks sentences and puts them into batches, selects and pools layers."""

from __future__ import annotations

import operator
import unicodedata
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, TypeVar, cast

import numpy as np
import torch

from elmokit.system.messages import printable
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from torch import Tensor

    from elmokit.text.vocabulary import Vocabulary

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

Item = TypeVar("Item")
Sentence = str | Sequence[str]
Layers = Literal["average", "all", "top"] | int | Sequence[float]
Pooling = Literal["mean", "max"]

DEFAULT_LAYERS: Literal["top"] = "top"
"""Ours: with `small-en`, the nearest mean finds 66.9 % of word senses in the top layer, and 64.3 % in the average of
all layers, where the token layer's vectors are the longest (docs/vectors.md)."""

TOKENS_AT_ONCE = 65_536
"""A block of sentences ends at this many tokens: 67 MB of hidden states for the released `original` model."""
TOKENS_PER_SENTENCE = 32
"""A batch has at most `batch_size` sentences and `batch_size` times this many tokens."""
BATCHES_AT_ONCE_ON_GPU = 8
"""A GPU reads this many batches as one, with any number of sentences. With fewer, it would wait for kernel launches."""

_MAX_SHOWN = 40
_NOT_LISTS: tuple[type, ...] = (Set, Mapping, str, bytes, bytearray, memoryview)
"""Types that can be iterated over, but are not ordered lists of sentences or tokens."""


def tokens_of_each(sentences: Iterable[Sentence]) -> list[list[str]]:
    """Tokens of each sentence: strings are tokenised, lists of tokens are used unchanged.

    Raises ValueError, with the index and the type, for an item that is neither, such as a missing value (None, NaN).
    Also raises it for a collection without an order, or with items other than sentences: a set, a dict, bytes, a table.
    """
    return list(tokens_in_turn(sentences))


def tokens_in_turn(sentences: Iterable[Sentence]) -> Iterator[list[str]]:
    """The lists of `tokens_of_each`, one at a time."""
    for number, sentence in enumerate(_items(sentences, "the sentences are", "a list of sentences")):
        if isinstance(sentence, str):
            yield tokenize(sentence)
            continue
        tokens = list(_items(sentence, f"sentence {number} is", "a string or a list of tokens (str)"))
        for position, token in enumerate(tokens):
            if not isinstance(token, str):
                raise ValueError(
                    f"token {position} of sentence {number} is {_described(token)}; expected a string: sentences are "
                    "strings or lists of tokens (str)"
                )
        yield cast("list[str]", tokens)


def spelt_as_in(vocabulary: Vocabulary | None, sentences: list[list[str]]) -> list[list[str]]:
    """The sentences, in NFD if the vocabulary is: to the model, a word in NFC is then another word."""
    if vocabulary is None or not vocabulary.is_decomposed:
        return sentences
    return [[unicodedata.normalize("NFD", token) for token in tokens] for tokens in sentences]


def batches_by_length(lengths: Sequence[int], *, batch_size: int, for_gpu: bool = False) -> Iterator[list[int]]:
    """Indices of sentences of similar length, longest first, within `batch_size` and its budget of padded tokens.

    for_gpu: use `BATCHES_AT_ONCE_ON_GPU` times the budget of tokens, and do not limit the sentences.
    """
    max_tokens = batch_size * TOKENS_PER_SENTENCE * (BATCHES_AT_ONCE_ON_GPU if for_gpu else 1)
    max_sentences = max_tokens if for_gpu else batch_size
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    start = 0
    while start < len(order):
        # the first sentence of a batch is its longest, so its length decides how many fit
        fit = max_tokens // max(lengths[order[start]], 1)
        end = start + max(1, min(max_sentences, fit))
        yield order[start:end]
        start = end


def begun_early(items: Iterable[Item], *, ahead: int) -> Iterator[Item]:
    """The items in order, each only after `ahead` more have begun: a GPU computes while the caller handles one."""
    begun: deque[Item] = deque()
    for item in items:
        begun.append(item)
        if len(begun) > ahead:
            yield begun.popleft()
    yield from begun


def as_layers(layers: Layers, *, top: int) -> Layers:
    """`layers` as a plain string, int or list of floats, such as 1 for `numpy.int64(1)`.

    Raises ValueError unless it is "average", "all", "top", a number from 0 to `top`, or a weight for each layer.
    """
    if np.ndim(cast("Any", layers)) > 0:
        return _as_weights(cast("Sequence[float]", layers), top=top)
    number = as_int(layers)
    if number is None and layers not in ("average", "all", "top"):
        known = f"'average', 'all', 'top', a number from 0 to {top}, or a weight for each layer"
        raise ValueError(f"layers is {layers!r}; expected {known}")
    if number is not None and not 0 <= number <= top:
        raise ValueError(f"layers is {number}; this model has layers 0 (token representation) to {top} (top)")
    return layers if number is None else number


def as_int(value: object) -> int | None:
    """A whole number as an int, including NumPy's integers. None for anything else, including True and False."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def select(activations: list[Float[Tensor, "N E"]], layers: Layers) -> Float[Tensor, "*L N E"]:
    """The chosen layers.

    activations: layers 0 to the highest one needed. If `layers` is a number, that layer is the last.
    """
    if layers == "all":
        return torch.stack(activations)
    if layers == "average":
        return torch.stack(activations).mean(dim=0)
    if isinstance(layers, int | str):
        return activations[-1]
    stacked = torch.stack(activations)
    return torch.einsum("l,lne->ne", torch.tensor(layers, dtype=stacked.dtype, device=stacked.device), stacked)


def begin_copy(values: Tensor) -> Callable[[], Array]:
    """Begin to copy to the CPU. The returned function waits for the copy, but not for later work on the GPU."""
    if values.device.type != "cuda":
        return values.cpu().numpy
    pinned = torch.empty_like(values, device="cpu", pin_memory=True).copy_(values, non_blocking=True)
    copied = torch.cuda.current_stream(values.device).record_event()

    def arrived() -> Array:
        copied.synchronize()
        return pinned.numpy()

    return arrived


def split(vectors: Float32[np.ndarray, "*L N E"], sentences: Sequence[Sequence[str]]) -> list[Array]:
    """Views of the vectors of each sentence."""
    return np.split(vectors, np.cumsum([len(sentence) for sentence in sentences])[:-1], axis=-2)


def pool(vectors: Array, pooling: Pooling) -> Array:
    """One vector for a sentence (*L,T,E): the mean or maximum over its tokens. Zeros if it has no tokens."""
    if vectors.shape[-2] == 0:
        return np.zeros((*vectors.shape[:-2], vectors.shape[-1]), np.float32)
    return vectors.mean(axis=-2) if pooling == "mean" else vectors.max(axis=-2)


def unit_vectors(vectors: Float[np.ndarray, "*N E"]) -> Float[np.ndarray, "*N E"]:
    """The vectors scaled to length 1. Float16 becomes float32. A zero vector stays zero."""
    vectors = np.asarray(vectors, np.result_type(np.asarray(vectors), np.float32))
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def _as_weights(weights: Sequence[float], *, top: int) -> list[float]:
    numbers = np.asarray(weights)
    is_of_numbers = numbers.ndim == 1 and numbers.dtype.kind in "iuf" and np.isfinite(numbers).all()
    if not is_of_numbers or len(numbers) != top + 1:
        raise ValueError(f"layers is {weights!r}; expected {top + 1} finite weights, of layers 0 to {top}")
    return [float(number) for number in numbers]


def _items(given: object, subject: str, expected: str) -> Iterator[object]:
    is_table = hasattr(given, "columns")  # pandas, polars or Arrow: iterating gives columns or their names
    if not isinstance(given, _NOT_LISTS) and not is_table:
        with suppress(TypeError):  # also from arrays without dimensions, which do have `__iter__`
            return iter(cast("Iterable[object]", given))
    raise ValueError(f"{subject} {_described(given)}; expected {expected}")


def _described(given: object) -> str:
    name = type(given).__name__
    is_short = given is None or isinstance(given, (str, bytes, int, float))
    return f"{printable(repr(given), limit=_MAX_SHOWN)} ({name})" if is_short else f"of type {name}"
