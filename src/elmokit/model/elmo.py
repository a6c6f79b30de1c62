"""Elmo: sentences -> contextual word vectors, with a pretrained biLM (Peters et al., 2018)."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, SupportsIndex, cast, overload

import numpy as np
import torch
from torch import Tensor

from elmokit.layers.devices import find_device
from elmokit.layers.packed.linear import Precision, check_precision
from elmokit.model.bundled import DEFAULT_MODEL, resolve_model
from elmokit.model.formats.read import read_bilm
from elmokit.model.loaded import LoadedBiLM
from elmokit.model.sentences import Sentence, tokens_of_each
from elmokit.system.progress import progress_bar
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, num_truncated

if TYPE_CHECKING:
    from jaxtyping import Float, Float32

    from elmokit.model.bilm import BiLM
    from elmokit.model.config import BiLMConfig
    from elmokit.text.vocabulary import Vocabulary

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

Layers = Literal["average", "all", "top"] | int
Pooling = Literal["mean", "max"]

TOKENS_PER_SENTENCE = 32
"""A batch has at most `batch_size` sentences and `batch_size` times this many tokens."""


class Elmo:
    """A pretrained biLM that encodes sentences: `Elmo.from_pretrained().encode(["I sat on the bank ."])`.

    It is stateless: the vectors of a sentence depend only on that sentence, not on its batch or on earlier calls; in
    float32 they are usually even equal bit for bit (see `same_in_any_batch`).
    """

    def __init__(self, bilm: BiLM, vocabulary: Vocabulary | None = None, *, precision: Precision = "float32") -> None:
        """For `precision` see `from_pretrained`. If the weights of the biLM change, the next call uses the new ones."""
        check_precision(precision)
        self.vocabulary = vocabulary
        self._loaded = LoadedBiLM(bilm, precision=precision)
        self._warned = False

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path = DEFAULT_MODEL,
        weights: str | Path | None = None,
        *,
        device: str | torch.device | None = None,
        precision: Precision = "float32",
    ) -> Elmo:
        """Load a model: the name of a bundled one, a folder (native, a run, or with a released pair in it), or a pair.

        A pair is loaded by `from_pretrained("options.json", "weights.hdf5")`.
        device: by default the GPU if there is one.
        precision: "float32" is exact; "auto" is also exact, with the kernel that is faster on this machine; "bfloat16"
            (float16 weights where the CPU has no bfloat16) and "int8" trade accuracy for speed, especially on few
            sentences.
        Raises FileNotFoundError when there is no such model, and ValueError when a file is damaged or not a model.
        """
        device = find_device(device)

        def read() -> tuple[BiLM, Vocabulary | None]:
            bilm, vocabulary = load_bilm(name_or_path, weights)
            return bilm.to(device).requires_grad_(False), vocabulary

        bilm, vocabulary = read()
        elmo = cls(bilm, vocabulary, precision=precision)
        elmo._loaded.can_read_again(lambda: read()[0])
        return elmo

    @property
    def bilm(self) -> BiLM:
        """The model itself, in float32. Once accessed, it stays in memory in addition to the packed weights."""
        return self._loaded.bilm

    @property
    def config(self) -> BiLMConfig:
        """The config of the biLM."""
        return self._loaded.config

    @property
    def precision(self) -> Precision:
        """The precision of `encode`; see `from_pretrained`."""
        return self._loaded.precision

    @property
    def same_in_any_batch(self) -> bool:
        """Whether the vectors of a sentence are the same, bit for bit, whatever else is encoded with it or before it.

        This is True for float32 and int8 on processors that oneDNN and FBGEMM support. Otherwise vectors are the same
        up to rounding.
        """
        return self._loaded.packed().rows_are_independent

    def fingerprint(self) -> str:
        """A hash of config and weights: equal for equal models, however they are stored."""
        return self._loaded.fingerprint()

    @overload
    def encode(  # pyright: ignore[reportOverlappingOverload] - a string is an iterable of strings, and comes first
        self,
        sentences: str,
        *,
        batch_size: int = ...,
        layers: Layers = ...,
        pooling: Pooling | None = ...,
        show_progress: bool | None = ...,
    ) -> Array: ...
    @overload
    def encode(
        self,
        sentences: Iterable[Sentence],
        *,
        batch_size: int = ...,
        layers: Layers = ...,
        pooling: None = ...,
        show_progress: bool | None = ...,
    ) -> list[Array]: ...
    @overload
    def encode(
        self,
        sentences: Iterable[Sentence],
        *,
        batch_size: int = ...,
        layers: Layers = ...,
        pooling: Pooling,
        show_progress: bool | None = ...,
    ) -> Array: ...
    def encode(
        self,
        sentences: str | Iterable[Sentence],
        *,
        batch_size: int = 128,
        layers: Layers = "average",
        pooling: Pooling | None = None,
        show_progress: bool | None = None,
    ) -> list[Array] | Array:
        """Vectors of the tokens of each sentence, in order: float32 (T,2D), or (L,T,2D) for `layers="all"`.

        sentences: strings, which are tokenised, or lists of tokens, which are used unchanged. A single string is one
            sentence and gives one array, as in sentence-transformers.
        batch_size: number of sentences encoded at once; a smaller one needs less memory and changes nothing else.
        layers: "average" of all layers, "all", "top", or the number of a layer; 0 is the token representation, without
            context.
        pooling: "mean" or "max" over the tokens of each sentence, which gives one array (N,2D), or (N,L,2D); a
            sentence without tokens gets zeros.
        show_progress: whether to show a bar on stderr; by default on a terminal, after two seconds.

        Raises ValueError for an unknown layer or pooling, and for sentences that are not strings or lists of strings.
        """
        if isinstance(sentences, str):
            return self.encode(
                [sentences], batch_size=batch_size, layers=layers, pooling=pooling, show_progress=show_progress
            )[0]
        layers = as_layers(layers, top=self.config.num_layers)
        if pooling not in (None, "mean", "max"):
            raise ValueError(f"pooling is {pooling!r}; expected None, 'mean' or 'max'")
        size = _as_int(batch_size)
        if size is None or size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; expected a whole number, at least 1")
        tokens = tokens_of_each(sentences)
        self._warn_of_cut_tokens(tokens)
        packed = self._loaded.packed()
        vectors: list[Array] = [np.empty(0, np.float32)] * len(tokens)
        with progress_bar(unit="sentence", total=len(tokens), show=show_progress) as bar:
            for batch in batches_by_length([len(sentence) for sentence in tokens], batch_size=size):
                group = [tokens[index] for index in batch]
                activations, _ = packed.read(group, depth=self._depth(layers))
                for index, array in zip(batch, _split(_select(activations, layers), group), strict=True):
                    vectors[index] = array.copy() if pooling is None else _pool(array, pooling)
                bar.update(len(batch))
        if pooling is None:
            return vectors
        return np.stack(vectors) if vectors else self._empty(layers)

    def encode_streams(self, streams: Iterable[Iterable[Sentence]], *, layers: Layers = "average") -> list[list[Array]]:
        """Vectors with the LSTM state carried from sentence to sentence, as bilm-tf and AllenNLP compute them.

        A stream is a text of consecutive sentences, which starts from a zero state. If a reference implementation was
        given batches, stream k is row k of all its batches; its tool for whole files reads a single stream. `encode`
        does not carry the state.
        """
        layers = as_layers(layers, top=self.config.num_layers)
        texts = [tokens_of_each(stream) for stream in streams]
        self._warn_of_cut_tokens([sentence for text in texts for sentence in text])
        packed = self._loaded.packed()
        vectors: list[list[Array]] = [[] for _ in texts]
        state = packed.zero_state(len(texts))
        for step in range(max((len(text) for text in texts), default=0)):
            batch = [[BEGIN_SENTENCE, *text[step], END_SENTENCE] if step < len(text) else [] for text in texts]
            activations, state = packed.read(batch, state, depth=self._depth(layers))
            for bounded, array, done in zip(batch, _split(_select(activations, layers), batch), vectors, strict=True):
                if bounded:
                    done.append(array[..., 1:-1, :].copy())
        return vectors

    def forget_tokens(self) -> None:
        """Drop the token representations that are cached between calls. They only save time."""
        self._loaded.packed().token_cache.forget()

    def _depth(self, layers: Layers) -> int:
        """Number of the highest layer that is needed."""
        return layers if isinstance(layers, int) else self.config.num_layers

    def _empty(self, layers: Layers) -> Array:
        depth = (self.config.num_layers + 1,) if layers == "all" else ()
        return np.empty((0, *depth, self.config.output_dim), np.float32)

    def _warn_of_cut_tokens(self, sentences: Sequence[list[str]]) -> None:
        """Warn, once per Elmo, about tokens that are too long: a limit of 48 bytes is only 16 Korean syllables."""
        if self._warned:
            return
        limit = self.config.max_characters_per_token
        num_cut = sum(num_truncated(sentence, max_characters_per_token=limit) for sentence in sentences)
        if num_cut:
            self._warned = True
            num_tokens = sum(len(sentence) for sentence in sentences)
            warnings.warn(
                f"{num_cut:,} of {num_tokens:,} tokens are longer than the {limit - 2} bytes that this model reads; "
                "the rest of each is ignored (this warning is shown once)",
                stacklevel=3,
            )


def load_bilm(name_or_path: str | Path, weights: str | Path | None = None) -> tuple[BiLM, Vocabulary | None]:
    """The biLM, and the vocabulary if there is one, of a bundled model, a folder or an options/weights pair."""
    bilm, _, vocabulary = read_bilm(resolve_model(name_or_path) if weights is None else name_or_path, weights)
    return bilm, vocabulary


def batches_by_length(lengths: Sequence[int], *, batch_size: int) -> Iterator[list[int]]:
    """Indices of sentences of similar length, longest first, within `batch_size` and its budget of padded tokens."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        # the first sentence of a batch is its longest, so its length decides how many fit
        if batch and (len(batch) + 1) * max(lengths[batch[0]], 1) > batch_size * TOKENS_PER_SENTENCE:
            yield batch
            batch = []
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch


def as_layers(layers: Layers, *, top: int) -> Layers:
    """The same for `layers` as a plain string or int, such as 1 for `numpy.int64(1)`.

    Raises ValueError unless it is "average", "all", "top" or a number from 0 to `top`.
    """
    number = None if isinstance(layers, bool | str) else _as_int(layers)
    if number is None and layers not in ("average", "all", "top"):
        raise ValueError(f"layers is {layers!r}; expected 'average', 'all', 'top' or a number from 0 to {top}")
    if number is not None and not 0 <= number <= top:
        raise ValueError(f"layers is {number}; this model has layers 0 (token representation) to {top} (top)")
    return layers if number is None else number


def _select(activations: list[Float[Tensor, "N E"]], which: Layers) -> Float32[np.ndarray, "*L N E"]:
    if which == "all":
        selected = torch.stack(activations)
    elif which == "average":
        selected = torch.stack(activations).mean(dim=0)
    else:
        selected = activations[-1]
    return selected.cpu().numpy()


def _split(vectors: Float32[np.ndarray, "*L N E"], sentences: Sequence[Sequence[str]]) -> list[Array]:
    """Views of the vectors of each sentence."""
    return np.split(vectors, np.cumsum([len(sentence) for sentence in sentences])[:-1], axis=-2)


def _as_int(value: object) -> int | None:
    """None for what is not a whole number; those of NumPy are."""
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def _pool(vectors: Array, pooling: Pooling) -> Array:
    if vectors.shape[-2] == 0:
        return np.zeros((*vectors.shape[:-2], vectors.shape[-1]), np.float32)
    return vectors.mean(axis=-2) if pooling == "mean" else vectors.max(axis=-2)
