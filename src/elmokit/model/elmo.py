"""Elmo: sentences -> contextual word vectors, with a pretrained biLM (Peters et al., 2018)."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn, cast, overload

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from elmokit.model.bundled import DEFAULT_MODEL, find_model
from elmokit.model.formats.read import read_bilm
from elmokit.model.token_encoder import TokenEncoder
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, num_truncated
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from jaxtyping import Float

    from elmokit.model.bilm import BiLM, BiLMState
    from elmokit.model.config import BiLMConfig
    from elmokit.text.vocabulary import Vocabulary

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]

Layers = Literal["average", "all", "top"] | int
Pooling = Literal["mean", "max"]
Sentence = str | Sequence[str]

TOKENS_PER_SENTENCE = 64
"""A batch has at most `batch_size` sentences and `batch_size` times this many tokens, padding included."""


class Elmo:
    """A pretrained biLM in use: `Elmo.from_pretrained().encode(["I sat on the bank ."])`.

    Stateless: a sentence's vectors depend on that sentence alone, not on its batch nor on what was encoded before (to
    2e-6 in float32, because matrix products of other sizes add up in another order).
    """

    def __init__(self, bilm: BiLM, vocabulary: Vocabulary | None = None) -> None:
        self.bilm = bilm
        self.vocabulary = vocabulary
        self._encode_tokens = TokenEncoder(bilm)
        self._warned = False

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path = DEFAULT_MODEL,
        weights: str | Path | None = None,
        *,
        device: str | torch.device | None = None,
    ) -> Elmo:
        """A bundled model by name, a folder (native, of a run, or with a released pair in it), or a pair itself.

        A pair is `from_pretrained("options.json", "weights.hdf5")`. `device`: by default the GPU if there is one.
        FileNotFoundError: nothing of that name; ValueError: a file that is not what it should be.
        """
        bilm, vocabulary = load_bilm(name_or_path, weights)
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        return cls(bilm.to(device).requires_grad_(False), vocabulary)

    @property
    def config(self) -> BiLMConfig:
        return self.bilm.config

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
        batch_size: int = 64,
        layers: Layers = "average",
        pooling: Pooling | None = None,
        show_progress: bool | None = None,
    ) -> list[Array] | Array:
        """Vectors of the tokens of each sentence, in the order given: float32 (T,2D), or (L,T,2D) for `layers="all"`.

        sentences: strings, which are tokenised, or lists of tokens, which are taken as they are. One string alone is
            one sentence and gives its array alone, as in sentence-transformers.
        batch_size: sentences run at once; smaller needs less memory and changes nothing else.
        layers: "average" of all, "all", "top", or the number of one; 0 is the token representation, without context.
        pooling: "mean" or "max" over the tokens of a sentence: one array (N,2D), or (N,L,2D); zeros without tokens.
        show_progress: a bar on stderr; None shows it on a terminal when it takes longer than two seconds.
        """
        if isinstance(sentences, str):
            return self.encode(
                [sentences], batch_size=batch_size, layers=layers, pooling=pooling, show_progress=show_progress
            )[0]
        self._check_layers(layers)
        if pooling not in (None, "mean", "max"):
            raise ValueError(f"pooling is {pooling!r}; expected None, 'mean' or 'max'")
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; expected at least 1")
        tokens = _tokens_of_each(sentences)
        self._warn_of_cut_tokens(tokens)
        vectors: list[Array] = [np.empty(0, np.float32)] * len(tokens)
        with _progress_bar(len(tokens), show=show_progress) as bar:
            for batch in batches_by_length([len(sentence) for sentence in tokens], batch_size=batch_size):
                encoded, _ = self._encode_batch([tokens[index] for index in batch], layers=layers)
                for index, array in zip(batch, encoded, strict=True):
                    vectors[index] = array if pooling is None else _pool(array, pooling)
                bar.update(len(batch))
        if pooling is None:
            return vectors
        return np.stack(vectors) if vectors else self._empty(layers)

    def encode_streams(self, streams: Iterable[Iterable[Sentence]], *, layers: Layers = "average") -> list[list[Array]]:
        """Vectors with the state carried from sentence to sentence: what bilm-tf and AllenNLP compute, row by row.

        A stream is a text read on from sentence to sentence; it starts from zeros. Row k of every batch that a
        reference implementation was given is stream k, so its tool for whole files reads one. `encode` forgets instead.
        """
        self._check_layers(layers)
        texts = [_tokens_of_each(stream) for stream in streams]
        self._warn_of_cut_tokens([sentence for text in texts for sentence in text])
        vectors: list[list[Array]] = [[] for _ in texts]
        state: BiLMState | None = None
        for step in range(max((len(text) for text in texts), default=0)):
            batch = [text[step] if step < len(text) else None for text in texts]  # a text that has ended keeps its row
            encoded, state = self._encode_batch(batch, layers=layers, state=state)
            for sentence, array, done in zip(batch, encoded, vectors, strict=True):
                if sentence is not None:
                    done.append(array)
        return vectors

    def forget_tokens(self) -> None:
        """Drop the token representations that are remembered from call to call; they only save time."""
        self._encode_tokens.forget()

    @torch.inference_mode()
    def _encode_batch(
        self, sentences: Sequence[list[str] | None], *, layers: Layers, state: BiLMState | None = None
    ) -> tuple[list[Array], BiLMState]:
        """An array for each sentence, without its boundaries, and the state; None is a row that is not read at all."""
        bounded = [[] if sentence is None else [BEGIN_SENTENCE, *sentence, END_SENTENCE] for sentence in sentences]
        tokens, lengths = self._encode_tokens(bounded)
        output = self.bilm.contextualise(tokens, lengths, state)
        selected = _select(output.layers, layers).float().cpu().numpy()
        arrays = [selected[..., row, 1 : 1 + len(sentence or ()), :].copy() for row, sentence in enumerate(sentences)]
        return arrays, output.state

    def _check_layers(self, layers: Layers) -> None:
        top = self.config.num_layers
        if isinstance(layers, int) and not isinstance(layers, bool):
            if not 0 <= layers <= top:
                raise ValueError(f"layers is {layers}; this model has layers 0 (token representation) to {top} (top)")
        elif layers not in ("average", "all", "top"):
            raise ValueError(f"layers is {layers!r}; expected 'average', 'all', 'top' or a number from 0 to {top}")

    def _empty(self, layers: Layers) -> Array:
        depth = (self.config.num_layers + 1,) if layers == "all" else ()
        return np.empty((0, *depth, self.config.output_dim), np.float32)

    def _warn_of_cut_tokens(self, sentences: Sequence[list[str]]) -> None:
        """Once for each Elmo: a byte limit of 48 is 16 Korean syllables."""
        if self._warned:
            return
        limit = self.config.max_characters_per_token
        num_cut = sum(num_truncated(sentence, max_characters_per_token=limit) for sentence in sentences)
        if num_cut:
            self._warned = True
            num_tokens = sum(len(sentence) for sentence in sentences)
            warnings.warn(
                f"{num_cut:,} of {num_tokens:,} tokens are longer than the {limit - 2} bytes that this model reads; "
                "the rest of them is ignored (said once)",
                stacklevel=3,
            )


def load_bilm(name_or_path: str | Path, weights: str | Path | None = None) -> tuple[BiLM, Vocabulary | None]:
    """The biLM and the vocabulary, if it has one, of a bundled model, a folder or an options/weights pair."""
    if weights is None:
        bilm, _, vocabulary = read_bilm(find_model(name_or_path))
    else:
        bilm, _, vocabulary = read_bilm(Path(weights), options=Path(name_or_path))
    return bilm, vocabulary


def batches_by_length(lengths: Sequence[int], *, batch_size: int) -> Iterator[list[int]]:
    """Indices of sentences of similar length, longest first, within `batch_size` and its budget of padded tokens."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: -lengths[index]):
        # the first of a batch is its longest, so it tells how many others have room
        if batch and (len(batch) + 1) * max(lengths[batch[0]], 1) > batch_size * TOKENS_PER_SENTENCE:
            yield batch
            batch = []
        batch.append(index)
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch


def _tokens_of_each(sentences: Iterable[Sentence]) -> list[list[str]]:
    if isinstance(sentences, str):
        raise ValueError("a stream is a list of sentences, not one string")
    result: list[list[str]] = []
    for number, sentence in enumerate(sentences):
        tokens = tokenize(sentence) if isinstance(sentence, str) else list(cast("Iterable[object]", sentence))
        for token in tokens:
            if not isinstance(token, str):
                raise ValueError(
                    f"sentence {number} holds {token!r} ({type(token).__name__}); "
                    "expected sentences to be strings or lists of tokens (str)"
                )
        result.append(cast("list[str]", tokens))
    return result


def _select(layers: Float[Tensor, "L B T E"], which: Layers) -> Float[Tensor, "*L B T E"]:
    if which == "all":
        return layers
    if which == "average":
        return layers.mean(dim=0)
    return layers[-1 if which == "top" else which]


def _pool(vectors: Array, pooling: Pooling) -> Array:
    if vectors.shape[-2] == 0:
        return np.zeros((*vectors.shape[:-2], vectors.shape[-1]), np.float32)
    return vectors.mean(axis=-2) if pooling == "mean" else vectors.max(axis=-2)


def _progress_bar(num_sentences: int, *, show: bool | None) -> tqdm[NoReturn]:
    only_on_a_terminal = None  # in tqdm's words
    return tqdm(
        total=num_sentences,
        unit="sentence",
        disable=only_on_a_terminal if show is None else not show,
        delay=2 if show is None else 0,
    )
