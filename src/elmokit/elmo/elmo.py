"""Elmo: sentences -> contextual word vectors, with a pretrained biLM (Peters et al., 2018)."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, Unpack, overload

import numpy as np
import torch

from elmokit.elmo.encoding import (
    DEFAULT_LAYERS,
    Layers,
    Pooling,
    Sentence,
    as_int,
    as_layers,
    batches_by_length,
    begin_copy,
    begun_early,
    pool,
    select,
    spelt_as_in,
    split,
    tokens_of_each,
    unit_vectors,
)
from elmokit.elmo.nearest import Among, NearOccurrence, nearest_occurrences
from elmokit.elmo.surprisal import ConditionalSurprisal, Direction, SentenceSurprisal, SurprisalModel, SurprisalSettings
from elmokit.elmo.text_warnings import TextWarnings
from elmokit.formats import hub
from elmokit.formats.find import DEFAULT_MODEL, find
from elmokit.formats.native import card_of, open_weights, write_native
from elmokit.formats.read import softmax_of, to_weights
from elmokit.layers.devices import find_device
from elmokit.layers.full_softmax import SoftmaxDetails
from elmokit.layers.packed.linear import Precision, check_precision
from elmokit.layers.parallel import STATE_LOCK
from elmokit.model.bilm import BiLM, spelling_of
from elmokit.model.packed_bilm import PackedBiLM
from elmokit.model.weights import Weights, fingerprint_of
from elmokit.system.paths import expanded
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.text.alignment import token_offsets
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.spelling import DictionarySpelling
from elmokit.text.tokenizer import tokenize

if TYPE_CHECKING:
    from jaxtyping import Float, Float32
    from numpy.typing import NDArray
    from torch import Tensor

    from elmokit.layers.sampled_softmax import Softmax
    from elmokit.model.config import BiLMConfig
    from elmokit.text.spelling import Spelling
    from elmokit.text.vocabulary import Vocabulary

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True, eq=False)
class EncodedSentence:
    """One sentence, as `Elmo.encode_sentences` returns it: token i has `offsets[i]` and `vectors[..., i, :]`."""

    text: str | None
    """The sentence as it was given; None if it was given as a list of tokens."""
    tokens: list[str]
    offsets: list[tuple[int, int]] | None
    """Start and end of each token in `text`, in characters; None without a text."""
    vectors: Float32[np.ndarray, "*L T E"]

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"EncodedSentence({self.tokens!r}, vectors {self.vectors.shape})"


class EncodeOptions(TypedDict, total=False):
    """Options of `Elmo.encode` that do not change the type of its result."""

    batch_size: int
    layers: Layers
    normalize_embeddings: bool
    show_progress_bar: bool | None


class Elmo:
    """A pretrained biLM that encodes sentences: `Elmo.from_pretrained().encode(["I sat on the bank ."])`.

    It is stateless: the vectors of a sentence depend only on that sentence, not on its batch or on earlier calls. In
    float32 they are usually even equal bit for bit (see `same_in_any_batch`). It can be copied, pickled and sent to
    other processes, weights included.
    """

    def __init__(
        self,
        model: BiLM | str | Path = DEFAULT_MODEL,
        vocabulary: Vocabulary | None = None,
        *,
        softmax: Softmax | None = None,
        weights: str | Path | None = None,
        device: str | torch.device | None = None,
        precision: Precision = "float32",
    ) -> None:
        """Wrap a biLM, with its vocabulary and a softmax for `surprisal`, or load a model as `from_pretrained` does.

        Raises ValueError for a vocabulary or a softmax with the name of a model, because a named model has its own.
        Also raises the errors of `from_pretrained`.
        """
        check_precision(precision)
        self.precision: Precision = precision
        """The precision of `encode`; see `from_pretrained`."""
        self._bilm: BiLM | None = None
        self._packed: PackedBiLM | None = None
        self._packed_from = ""
        if isinstance(model, BiLM):
            self.name: str | None = None
            self._folder: Path | None = None
            self._bilm, self._device = model, _device_of(model)
            self._weights, self.vocabulary = Weights(model.config, {}), vocabulary
            if device is not None:
                self.to(device)
        else:
            if vocabulary is not None or softmax is not None:
                raise ValueError(
                    f"{model} was given with a vocabulary (the second argument) or a softmax, which only a BiLM takes; "
                    "give the weights of an options.json as weights=..., or use from_pretrained(options, weights)"
                )
            self._device = find_device(device)
            check_precision(precision, self._device)  # before anything is read
            self.name = str(model)
            """The name or path that it was loaded from; None if it was made from a biLM."""
            self._folder = find(model, weights).absolute()
            self._weights = open_weights(self._folder)
            self.vocabulary = self._weights.vocabulary
        self._softmax = softmax
        share = (self._weights.pretraining or {}).get("unknown_share")
        self._warnings = TextWarnings(
            spelling=self._spelling,
            vocabulary=self.vocabulary,
            name=self.name or "this model",
            unknown_share=share if isinstance(share, float) else None,
        )

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path = DEFAULT_MODEL,
        weights: str | Path | None = None,
        *,
        device: str | torch.device | None = None,
        precision: Precision = "float32",
    ) -> Self:
        """Load a model by its name, from a folder (native, a run, or one with a released pair), or from a pair.

        Load a pair with `from_pretrained("options.json", "weights.hdf5")`. A published model (`"original"`; `elmokit
        models` lists them) is downloaded on first use. A model on the Hugging Face Hub is `"hf://user/model"` or,
        pinned to a branch, a tag or a commit, `"hf://user/model@revision"` (extra `hub`).
        device: by default the GPU if there is one.
        precision: "float32" is exact; "bfloat16" (float16 weights where the CPU has no bfloat16) and "int8" trade
            accuracy for speed, especially on few sentences.
        Raises FileNotFoundError when there is no such model, ValueError when a file is damaged or not a model, and
        OSError when a model cannot be downloaded.
        """
        return cls(name_or_path, weights=weights, device=device, precision=precision)

    def save(self, folder: str | Path, *, dtype: str = "float32") -> None:
        """Write the model into a new folder in the native format, without a softmax. `from_pretrained` loads it.

        dtype: "float32", or "float16", which takes half the space. To keep a model's softmax, use `elmokit.convert`.
        Raises FileExistsError for a folder that is not empty.
        """
        write_native(expanded(folder), self._current_weights(), dtype=dtype)

    def push_to_hub(
        self, address: str, *, dtype: str = "float32", private: bool = False, message: str = "Upload a biLM"
    ) -> str:
        """Upload the files of `save` to the Hugging Face Hub, and return their address there, pinned to the commit.

        address: "hf://user/model", or "hf://user/model@branch" for a branch that exists. A new repository is created,
            `private` or not, with a card (README.md) for you to complete. An existing card is kept.
        dtype: "float32", or "float16", which takes half the space.
        Needs the extra `hub`, and a login (`hf auth login` or HF_TOKEN). Raises ValueError if `address` is not an
        address, and OSError if the Hub refuses or cannot be reached.
        """
        repository, _ = hub.parts_of(address)
        with tempfile.TemporaryDirectory(prefix="elmokit-") as folder:
            weights = self._current_weights()
            card = card_of(weights, name=f"{hub.SCHEME}{repository}")
            write_native(Path(folder, "model"), weights, dtype=dtype, card=card)
            return hub.upload(Path(folder, "model"), address, private=private, message=message)

    @property
    def bilm(self) -> BiLM:
        """The model itself, in float32. Once accessed, it stays in memory in addition to the packed weights.

        You may change its weights in any way. To notice changes, each later use of this `Elmo` first hashes the
        weights, which takes about 1.5 ms per million parameters.
        """
        with STATE_LOCK:
            if self._bilm is None:
                fingerprint = self._weights.fingerprint  # before anyone changes the module, which shares memory
                self._bilm = BiLM.from_weights(self._weights).to(self._device).requires_grad_(False)
                self._weights = replace(self._weights, tensors={}, stored_fingerprint=fingerprint)
                self._packed_from = self._state()
            return self._bilm

    @property
    def config(self) -> BiLMConfig:
        """The config of the biLM."""
        return self._weights.config

    @property
    def dim(self) -> int:
        """Width of a vector: both directions of a layer."""
        return self.config.output_dim

    @property
    def num_layers(self) -> int:
        """Number of layers that `layers="all"` returns, including the token representation."""
        return self.config.num_layers + 1

    @property
    def device(self) -> torch.device:
        """The device that computes. Vectors are returned on the CPU, unless you ask for tensors."""
        return self._device

    def to(self, device: str | torch.device) -> Self:
        """Move it to another device, and return it. Raises ValueError if the device is missing or cannot run int8."""
        found = find_device(device)
        check_precision(self.precision, found)
        found = torch.empty(0, device=found).device  # `cuda` means `cuda:0`, or the GPU that the program chose
        if self._bilm is not None:
            self._bilm.to(found)
        if found != self._device:
            self._packed = None
        self._device = found
        return self

    @property
    def same_in_any_batch(self) -> bool:
        """Whether the vectors of a sentence are the same, bit for bit, whatever else is encoded with it or before it.

        This is True for float32 and int8 on processors that oneDNN and FBGEMM support, if all widths of the model are
        multiples of 32. All widths of the bundled and the released models are; the width 100 of ELMoForManyLangs' words
        is not. Otherwise vectors are the same up to rounding.
        """
        return self._packed_bilm().rows_are_independent

    def fingerprint(self, *, recompute: bool = False) -> str:
        """A hash of config and weights: equal for equal models, however they are stored.

        It includes the `n_characters` of an `options.json`, 261 or 262, although the vectors are the same.

        recompute: hash the weights even if their file contains the fingerprint.
        """
        with STATE_LOCK:
            if self._bilm is not None:
                return fingerprint_of(self.config, sorted(_arrays(self._bilm).items()), self._dictionaries)
            return (replace(self._weights, stored_fingerprint=None) if recompute else self._weights).fingerprint

    def __repr__(self) -> str:
        name = "of a biLM" if self.name is None else repr(self.name)
        millions = self.config.num_parameters / 1e6
        layers = f"{self.num_layers} layers of {self.dim}"
        return f"<Elmo {name}: {millions:,.1f} M parameters, {layers}, {self.precision} on {self.device}>"

    @staticmethod
    def tokenize(text: str) -> list[str]:
        """The tokens of a text, as in `encode`. The same as `elmokit.tokenize`."""
        return tokenize(text)

    @overload
    def encode(  # pyright: ignore[reportOverlappingOverload] - a string is an iterable of strings, and comes first
        self,
        sentences: str,
        *,
        pooling: Pooling | None = ...,
        convert_to_tensor: Literal[False] = ...,
        **options: Unpack[EncodeOptions],
    ) -> Array: ...
    @overload
    def encode(  # pyright: ignore[reportOverlappingOverload] - a string is an iterable of strings, and comes first
        self,
        sentences: str,
        *,
        pooling: Pooling | None = ...,
        convert_to_tensor: Literal[True],
        **options: Unpack[EncodeOptions],
    ) -> Tensor: ...
    @overload
    def encode(
        self,
        sentences: Iterable[Sentence],
        *,
        pooling: None = ...,
        convert_to_tensor: Literal[False] = ...,
        **options: Unpack[EncodeOptions],
    ) -> list[Array]: ...
    @overload
    def encode(
        self,
        sentences: Iterable[Sentence],
        *,
        pooling: None = ...,
        convert_to_tensor: Literal[True],
        **options: Unpack[EncodeOptions],
    ) -> list[Tensor]: ...
    @overload
    def encode(
        self,
        sentences: Iterable[Sentence],
        *,
        pooling: Pooling,
        convert_to_tensor: Literal[False] = ...,
        **options: Unpack[EncodeOptions],
    ) -> Array: ...
    @overload
    def encode(
        self,
        sentences: Iterable[Sentence],
        *,
        pooling: Pooling,
        convert_to_tensor: Literal[True],
        **options: Unpack[EncodeOptions],
    ) -> Tensor: ...
    @overload
    def encode(
        self,
        sentences: str | Iterable[Sentence],
        *,
        pooling: Pooling | None = ...,
        convert_to_tensor: bool = ...,
        **options: Unpack[EncodeOptions],
    ) -> Any: ...
    def encode(
        self,
        sentences: str | Iterable[Sentence],
        *,
        batch_size: int = 128,
        layers: Layers = DEFAULT_LAYERS,
        pooling: Pooling | None = None,
        normalize_embeddings: bool = False,
        convert_to_tensor: bool = False,
        show_progress_bar: bool | None = None,
    ) -> Any:
        """Vectors of the tokens of each sentence, in order: float32 (T,2D), or (L,T,2D) for `layers="all"`.

        The first D numbers are the forward direction, the others the backward direction. In layer 0 they are equal.

        sentences: strings (to be tokenised) or lists of tokens (used unchanged). A single string is one sentence and
            gives one array, as in sentence-transformers.
        batch_size: number of sentences encoded at once; a GPU takes eight times as many, and more if they are short.
            A smaller one needs less memory and changes nothing else.
        layers: "top", "average" of all layers, "all", the number of a layer, or a weight for each layer, such as
            [0.1, 0.3, 0.6], for their weighted sum. Layer 0 is the token representation, without context. The default
            is the top layer, which distinguishes word senses best.
        pooling: "mean" or "max" over the tokens of each sentence. The result is one array, (N,2D) or (N,L,2D). A
            sentence without tokens gets zeros. To classify sentences, train a task model instead.
        normalize_embeddings: whether to scale each vector to length 1; zeros stay zeros.
        convert_to_tensor: whether to return torch tensors on the model's device instead of arrays.
        show_progress_bar: whether to show a progress bar on stderr. By default, a terminal and a notebook show it
            after two seconds, and a log file gets one line per minute.
        Raises ValueError for an unknown layer or pooling, and for sentences that are not strings or lists of strings.
        """
        if pooling not in (None, "mean", "max"):
            raise ValueError(f"pooling is {pooling!r}; expected None, 'mean' or 'max'")
        size = as_int(batch_size)
        if size is None or size < 1:
            raise ValueError(f"batch_size is {batch_size!r}; expected a whole number, at least 1")
        tokens = tokens_of_each([sentences] if isinstance(sentences, str) else sentences)
        top = self.config.num_layers
        layers = as_layers(layers, top=top)
        depth = layers if isinstance(layers, int) else top
        self._warnings.check(tokens)
        packed = self._packed_bilm()
        vectors: list[Array] = [np.empty(0, np.float32)] * len(tokens)
        is_gpu = self._device.type != "cpu"
        with progress_bar(unit="sentence", total=len(tokens), show=show_progress_bar) as bar:
            groups = batches_by_length([len(sentence) for sentence in tokens], batch_size=size, for_gpu=is_gpu)
            texts = ((batch, [tokens[index] for index in batch]) for batch in groups)
            read = ((batch, group, select(packed.read(group, depth=depth)[0], layers)) for batch, group in texts)
            copies = ((batch, group, begin_copy(selected)) for batch, group, selected in read)
            for batch, group, arrived in begun_early(copies, ahead=int(is_gpu)):
                for index, array in zip(batch, split(arrived(), group), strict=True):
                    vectors[index] = array.copy() if pooling is None else pool(array, pooling)
                bar.update(len(batch))
        if normalize_embeddings:
            vectors = [unit_vectors(array) for array in vectors]
        if isinstance(sentences, str) or pooling is None:
            arrays = [torch.from_numpy(array).to(self.device) for array in vectors] if convert_to_tensor else vectors
            return arrays[0] if isinstance(sentences, str) else arrays
        axis = (self.num_layers,) if layers == "all" else ()
        pooled = np.stack(vectors) if vectors else np.empty((0, *axis, self.dim), np.float32)
        return torch.from_numpy(pooled).to(self.device) if convert_to_tensor else pooled

    def encode_sentences(
        self, sentences: Iterable[Sentence], **options: Unpack[EncodeOptions]
    ) -> list[EncodedSentence]:
        """Each sentence with its tokens, their offsets in its text, and their vectors.

        Takes the same `options` as `encode`, and raises ValueError as `encode` does.
        """
        given = [sentences] if isinstance(sentences, str) else list(sentences)
        tokens = tokens_of_each(given)
        texts = [sentence if isinstance(sentence, str) else None for sentence in given]
        return [
            EncodedSentence(text, of_one, None if text is None else token_offsets(text, of_one), vectors)
            for text, of_one, vectors in zip(texts, tokens, self.encode(tokens, **options), strict=True)
        ]

    @staticmethod
    def similarity(one: Float[np.ndarray, "*N E"], other: Float[np.ndarray, "*M E"]) -> Float[np.ndarray, "..."]:
        """Cosines (N,M) of N vectors with M vectors. A zero vector has cosine 0. A single vector adds no axis.

        Raises ValueError for vectors of different widths, and for vectors of several layers or sentences.
        """
        try:
            first, second = np.shape(one), np.shape(other)
        except ValueError as error:
            raise ValueError("sentences of different lengths do not form one array; give one, or pool them") from error
        if first[-1:] != second[-1:] or not {len(first), len(second)} <= {1, 2}:
            raise ValueError(f"vectors of shapes {first} and {second}; expected (N, width) or (width,) of equal widths")
        return np.asarray(unit_vectors(one) @ unit_vectors(other).T)

    def nearest(
        self,
        sentence: Sentence,
        word: str | int,
        corpus: Iterable[Sentence],
        *,
        number: int = 5,
        among: Among = "any",
        layers: Layers = DEFAULT_LAYERS,
    ) -> list[NearOccurrence]:
        """The occurrences in a corpus nearest to a word of a sentence. Each has `tokens`, `index` and `similarity`.

        word: a token of the sentence, or its index. If the token is repeated, its first occurrence counts.
        corpus: sentences as `encode` takes them, read once. The given sentence is left out if the corpus contains it.
            If a sentence of the corpus is repeated, only its first occurrence counts.
        number: the largest number of occurrences to return, at least 1.
        among: "any" word, the "same" word or "other" words, compared by spelling.
        layers: as in `encode`, but not "all".
        Raises ValueError for a word that is not in the sentence, and as `encode` does.
        """
        if isinstance(layers, str) and layers == "all":
            raise ValueError("layers is 'all'; expected one layer, an average, or a weight for each")

        def encode(sentences: list[list[str]]) -> list[Array]:
            return self.encode(spelt_as_in(self.vocabulary, sentences), layers=layers, show_progress_bar=False)

        return nearest_occurrences(encode, sentence, word, corpus, number=number, among=among)

    def encode_streams(
        self, streams: Iterable[Iterable[Sentence]], *, layers: Layers = DEFAULT_LAYERS
    ) -> list[list[Array]]:
        """Vectors with the LSTM state carried from sentence to sentence, as bilm-tf and AllenNLP compute them.

        A stream is a text of consecutive sentences. It starts from a zero state. If a reference implementation read
        batches, stream k is row k of all its batches. Its tool for whole files reads a single stream. `encode` does not
        carry the state.
        """
        top = self.config.num_layers
        layers = as_layers(layers, top=top)
        texts = [tokens_of_each(stream) for stream in streams]
        self._warnings.check([sentence for text in texts for sentence in text])
        packed = self._packed_bilm()
        vectors: list[list[Array]] = [[] for _ in texts]
        state = packed.zero_state(len(texts))
        for step in range(max((len(text) for text in texts), default=0)):
            batch = [[BEGIN_SENTENCE, *text[step], END_SENTENCE] if step < len(text) else [] for text in texts]
            activations, state = packed.read(batch, state, depth=layers if isinstance(layers, int) else top)
            for bounded, array, done in zip(
                batch, split(select(activations, layers).cpu().numpy(), batch), vectors, strict=True
            ):
                if bounded:
                    done.append(array[..., 1:-1, :].copy())
        return vectors

    def surprisal(
        self,
        sentences: Iterable[Sentence],
        *,
        direction: Direction = "both",
        details: SoftmaxDetails | None = None,
        carry_state: bool = False,
        show_progress_bar: bool | None = None,
    ) -> list[SentenceSurprisal]:
        """Surprisal of each token of each sentence, in bits, with the full softmax: minus log2 of its probability.

        sentences: strings, which are tokenised, or lists of tokens, which are used unchanged.
        direction: "forward", given the tokens before it; "backward", given the tokens after it; or "both".
        details: whether to compute ranks, entropies and likeliest tokens as well.
        carry_state: read the sentences as one story, with the state carried over. An empty sentence starts a new story.
        Raises ValueError for a model without a softmax or a vocabulary.
        """
        tokens = tokens_of_each(sentences)
        settings = SurprisalSettings(direction, details or SoftmaxDetails(), carry_state)
        found = self.surprisal_model().read(tokens, settings)
        return list(counted(found, progress_bar(unit="sentence", total=len(tokens), show=show_progress_bar)))

    def conditional_surprisal(
        self,
        prefixes: Iterable[Sentence],
        continuations: Iterable[Sentence],
        *,
        direction: Direction = "both",
        show_progress_bar: bool | None = None,
    ) -> list[ConditionalSurprisal]:
        """Surprisal of each continuation given its prefix, with the full softmax. The prefix is read but not counted.

        prefixes, continuations: equally many; strings, which are tokenised, or lists of tokens. A prefix may be empty.
        direction: "forward", the continuation given the prefix; "backward", the prefix given the continuation, which
            this direction reads first; or "both".
        Raises ValueError if the numbers of prefixes and continuations differ, for a continuation without tokens, and as
        `surprisal` does.
        """
        before, after = tokens_of_each(prefixes), tokens_of_each(continuations)
        if len(before) != len(after):
            raise ValueError(f"{len(before)} prefixes, but {len(after)} continuations; expected one for each prefix")
        found = self.surprisal_model().read_conditional(zip(before, after, strict=True), direction)
        return list(counted(found, progress_bar(unit="pair", total=len(before), show=show_progress_bar)))

    def surprisal_model(self) -> SurprisalModel:
        """The model that computes `surprisal`. It reads sentence by sentence, for text that does not fit in memory."""
        if self._softmax is None and self._folder is not None:
            again = open_weights(self._folder, with_softmax=True)
            if again.fingerprint != self._weights.fingerprint:
                raise ValueError(f"the files of {self.name} have changed since it was loaded; load it again")
            self._softmax = softmax_of(again)
        if self._softmax is None or self.vocabulary is None:
            missing = "softmax" if self._softmax is None else "vocabulary"
            raise ValueError(
                f"the model has no {missing}; surprisal and perplexity need the one that it was trained with"
            )
        model = SurprisalModel(self._packed_bilm(), self._softmax, self.vocabulary, self._warnings)
        if self._folder is not None:  # no other object holds the softmax, so it is moved only once
            self._softmax = model.softmax
        return model

    def forget_tokens(self) -> None:
        """Drop the token representations that are cached between calls. They only save time."""
        self._packed_bilm().token_cache.forget()

    @property
    def _dictionaries(self) -> DictionarySpelling | None:
        """The dictionaries of a model that looks words up; otherwise None."""
        return self._spelling if isinstance(self._spelling, DictionarySpelling) else None

    @property
    def _spelling(self) -> Spelling:
        return spelling_of(self.config, self._weights.spelling) if self._bilm is None else self._bilm.spelling

    def _current_weights(self) -> Weights:
        """The weights as they are now, without the softmax."""
        with STATE_LOCK:
            if self._bilm is not None:
                return to_weights(self._bilm, vocabulary=self.vocabulary)
            return replace(self._weights, vocabulary=self.vocabulary)

    def _packed_bilm(self) -> PackedBiLM:
        """The weights as they are now, packed for inference."""
        if self._bilm is None and self._packed is not None:
            return self._packed
        with STATE_LOCK:
            if self._bilm is not None and self._state() != self._packed_from:
                self._packed, self._device = None, _device_of(self._bilm)
            if self._packed is None:
                self._packed_from = self._state()
                weights = self._weights.tensors if self._bilm is None else self._bilm.state_dict()
                self._packed = PackedBiLM(
                    self.config, weights, spelling=self._spelling, precision=self.precision, device=self._device
                )
            return self._packed

    def _state(self) -> str:
        """The device of the module and a hash of its weights; empty without a module."""
        if self._bilm is None:
            return ""
        hashes = [zlib.crc32(array.data) for array in _arrays(self._bilm).values()]
        return f"{_device_of(self._bilm)} {hashes}"

    def __getstate__(self) -> dict[str, Any]:
        tensors = self._weights.tensors if self._bilm is None else _arrays(self._bilm)
        parameters = () if self._bilm is None else self._bilm.named_parameters()
        return {
            **{name: value for name, value in vars(self).items() if name not in ("_bilm", "_packed")},
            "_weights": replace(self._weights, tensors=dict(tensors), spelling=self._dictionaries),
            "_softmax": None if self._softmax is None else self._softmax.on(torch.device("cpu")),
            "_device": str(self._device),
            "has_module": self._bilm is not None,
            "trainable": {name for name, parameter in parameters if parameter.requires_grad},
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        has_module, trainable, device = (state.pop(name) for name in ("has_module", "trainable", "_device"))
        vars(self).update(state, _bilm=None, _packed=None, _packed_from="", _device=torch.device("cpu"))
        if has_module:
            copies = {name: np.array(array) for name, array in self._weights.tensors.items()}
            self._bilm = BiLM.from_arrays(self.config, self._weights.spelling, copies)
            self._weights = replace(self._weights, tensors={})
            for name, parameter in self._bilm.named_parameters():
                parameter.requires_grad_(name in trainable)
        with suppress(ValueError):  # if this machine lacks the device
            self.to(device)


def _arrays(bilm: BiLM) -> dict[str, NDArray[Any]]:
    """The weights as they are; NumPy has no bfloat16."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in bilm.state_dict().items()}
    return {name: (t.float() if t.dtype == torch.bfloat16 else t).numpy() for name, t in tensors.items()}


def _device_of(bilm: BiLM) -> torch.device:
    return bilm.char_encoder.embedding.weight.device
