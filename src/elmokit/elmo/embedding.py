"""ElmoEmbedding: a module for task models. It contains a biLM, frozen by default, and scalar mixes of its layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, TypedDict, Unpack, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.elmo.encoding import as_layers
from elmokit.formats.find import DEFAULT_MODEL
from elmokit.formats.read import read_bilm
from elmokit.layers.devices import sent_to
from elmokit.layers.masks import sentence_lengths
from elmokit.layers.scalar_mix import ScalarMix, SingleLayer, normalise_layers
from elmokit.model.bilm import BiLM
from elmokit.system.messages import warn_caller
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, check_sentences, padded

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from elmokit.model.vector_source import VectorSource

    Ids = Int[Tensor, "B T C"] | Int[np.ndarray, "B T C"]

LayerChoice = Literal["mix", "top", "average"] | int | Sequence[float]


@dataclass(frozen=True)
class ElmoVectors:
    """The vectors (B,T,2D) of each mix, after dropout, and the mask (B,T), without boundaries. Padding is zero."""

    mixes: list[Float[Tensor, "B T E"]]
    mask: Bool[Tensor, "B T"]


class EmbeddingOptions(TypedDict, total=False):
    """Keyword arguments of `ElmoEmbedding`, with its defaults."""

    num_mixes: int
    dropout_rate: float
    layer_norm: bool
    layers: LayerChoice
    rescale: bool
    penalty_factor: float
    encode_distinct: bool
    requires_grad: bool


class ElmoEmbedding(nn.Module):
    """Sentences -> `num_mixes` learned mixes of the biLM's layers (Peters et al., 2018, sections 3.2 and 3.3).

    bilm: a biLM, which becomes a submodule (the mixes are created on its device), or a `VectorSource`. The vectors of a
        `VectorSource` are stored elsewhere: they are not part of the state, and copies of the module share them.
    num_mixes: number of mixes; 2 for a model that uses ELMo at its input and at its output.
    dropout_rate: rate of the dropout after each mix.
    layer_norm: whether to normalise each layer over the batch before the mixes, as bilm-tf does (`normalise_layers`).
    layers: "mix" learns a weight for each layer; "top", "average", the number of a layer (0 is the token
        representation) and a list of weights, such as [0.1, 0.3, 0.6], learn only gamma.
    rescale: whether to divide each layer by its root mean square over the training set, which `measure_scales` sets
        once before training. The scales are part of the state.
    penalty_factor: lambda, the factor of `penalty`.
    encode_distinct: whether to encode a token only once if it occurs several times in a batch. If false, the vectors
        are the same but take more time, and the gradients of a trained char encoder are summed in another order.
    requires_grad: whether to train the biLM. If false, it has no gradients and stays in eval mode, even if another
        module contains it too. To train it later, set `trains_bilm = True` and call `bilm.requires_grad_(True)`.

    Raises ValueError if `bilm` is not a biLM, for a layer that it does not have, and for `requires_grad` with frozen
    layers.
    """

    output_dim: int
    """Width 2D of the vectors."""
    scales: Float[Tensor, " L"] | None
    boundaries: Int[Tensor, "2 C"] | None

    def __init__(
        self,
        bilm: BiLM | VectorSource,
        *,
        num_mixes: int = 1,
        dropout_rate: float = 0.5,
        layer_norm: bool = False,
        layers: LayerChoice = "mix",
        rescale: bool = False,
        penalty_factor: float = 1.0,
        encode_distinct: bool = True,
        requires_grad: bool = False,
    ) -> None:
        super().__init__()
        if num_mixes < 1:
            raise ValueError(f"num_mixes is {num_mixes}; expected at least 1")
        self.bilm: BiLM | None = None
        self.frozen: _Shared | None = None
        boundaries: Tensor | None = None
        device = torch.get_default_device()
        if isinstance(bilm, BiLM):
            device = next(bilm.parameters()).device
            self.bilm = bilm.requires_grad_(requires_grad)
            self.output_dim, num_layers = bilm.config.output_dim, bilm.config.num_layers + 1
            boundaries = torch.from_numpy(bilm.spelling.rows([BEGIN_SENTENCE, END_SENTENCE])).long()
        elif not all(hasattr(bilm, part) for part in ("num_layers", "dim", "add", "__call__", "fingerprint")):
            raise ValueError(
                f"bilm is of type {type(bilm).__name__}; expected a BiLM, such as elmo.bilm, or frozen layers; "
                "ElmoEmbedding.from_pretrained loads a model by its name"
            )
        elif requires_grad:
            raise ValueError("requires_grad is true, but frozen layers cannot be trained; pass the biLM itself")
        else:
            self.frozen = _Shared(bilm)
            self.output_dim, num_layers = bilm.dim, bilm.num_layers
        self.trains_bilm = requires_grad
        self.encode_distinct = encode_distinct
        self.layers = _checked_choice(layers, num_layers=num_layers)
        self.layer_norm = layer_norm
        self.penalty_factor = penalty_factor
        self.dropout: nn.Dropout = nn.Dropout(dropout_rate)
        with device:
            self.mixes: nn.ModuleList = nn.ModuleList(
                ScalarMix(num_layers=num_layers) if self.layers == "mix" else SingleLayer() for _ in range(num_mixes)
            )
            self.register_buffer("scales", torch.ones(num_layers) if rescale else None)
        self.boundaries = boundaries  # stays on the CPU, where character ids are checked
        self.train(self.training)

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path = DEFAULT_MODEL,
        weights: str | Path | None = None,
        **options: Unpack[EmbeddingOptions],
    ) -> Self:
        """Load a model as `Elmo.from_pretrained` does; `options` are the keyword arguments of the constructor."""
        bilm = read_bilm(name_or_path, weights)
        return cls(bilm, **options)

    def train(self, mode: bool = True) -> Self:
        """Set the mode of the module. A frozen biLM stays in eval mode."""
        super().train(mode)
        if self.bilm is not None:
            self.bilm.train(mode and self.trains_bilm)
        return self

    def forward(self, sentences: Ids | Sequence[Sequence[str]]) -> ElmoVectors:
        """Vectors of sentences, given as lists of tokens or character ids. Leave out boundaries: they are added here.

        In character ids (a tensor or an array), rows of zeros after the end of a sentence are padding. Frozen layers
        accept only lists of tokens.
        """
        layers, mask = self._layers(sentences)
        if self.scales is not None:
            if self.training and bool((self.scales == 1).all()):
                warn_caller("rescale is True, but no scales were measured; call measure_scales(sentences) first")
            layers = layers / self.scales[:, None, None, None]
        if isinstance(self.layers, int):
            layers = layers[self.layers][None]
        if self.layer_norm:
            layers = normalise_layers(layers, mask)
        if self.layers == "average":
            layers = layers.mean(dim=0, keepdim=True)
        elif isinstance(self.layers, list):
            layers = torch.einsum("l,lbtd->btd", layers.new_tensor(self.layers), layers)[None]
        return ElmoVectors(mixes=[self.dropout(mix(layers)) for mix in self.mixes], mask=mask)

    def penalty(self) -> Float[Tensor, ""]:
        """`penalty_factor` times the sum of `||w||^2` over the mixes, to be added to the loss.

        The lambdas of the paper are from 0.001 to 1. Mixes without weights have no penalty.
        """
        mixes = cast("Iterable[ScalarMix | SingleLayer]", self.mixes)
        return self.penalty_factor * torch.stack([mix.penalty() for mix in mixes]).sum()

    @torch.no_grad()
    def measure_scales(self, sentences: Iterable[Sequence[str]]) -> None:
        """Set the scales to the root mean square of each layer over the tokens of these sentences, for `rescale`.

        A few hundred sentences of the training set are enough. Raises ValueError for a module without `rescale`, and
        for sentences without a token.
        """
        if self.scales is None:
            raise ValueError("this ElmoEmbedding has no scales to measure; create it with rescale=True")
        squares, num_values = torch.zeros(len(self.scales), dtype=torch.float64, device="cpu"), 0
        for sentence in sentences:
            layers = self._layers([sentence])[0].cpu()
            squares += layers.double().square().sum(dim=(1, 2, 3))
            num_values += layers[0].numel()
        if not num_values:
            raise ValueError("found no tokens to measure the scales on; expected sentences of the training set")
        self.scales.copy_((squares / num_values).sqrt().clamp(min=1e-6))

    def _layers(self, sentences: Ids | Sequence[Sequence[str]]) -> tuple[Float[Tensor, "L B T E"], Bool[Tensor, "B T"]]:
        device = next(self.mixes.parameters()).device
        if isinstance(sentences, np.ndarray):  # ids from `batch_character_ids`
            sentences = torch.from_numpy(sentences)
        if self.frozen is not None:
            if isinstance(sentences, Tensor):
                raise ValueError("frozen layers got character ids; expected sentences as lists of tokens")
            check_sentences(sentences)
            lengths = torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long)
            layers = self.frozen.layers(sentences)
            return layers.to(device), (torch.arange(layers.shape[2]) < lengths[:, None]).to(device)
        assert self.bilm is not None and self.boundaries is not None
        if not isinstance(sentences, Tensor):
            sentences = torch.from_numpy(padded(sentences, self.bilm.spelling.rows))
        sentences = sentences.cpu()
        self.bilm.check_ids(sentences)
        if (sentences[:, :1] == self.boundaries[0]).all(dim=2).any():
            raise ValueError("the ids have boundaries, but this module adds them; leave out add_boundaries=True")
        mask = (sentences > 0).any(dim=2)
        if self.training and not self.trains_bilm and any(value.requires_grad for value in self.bilm.parameters()):
            unreached = "the biLM's parameters require gradients, but this module gives them none"
            warn_caller(f"{unreached}; to train it, set trains_bilm = True")
        with torch.set_grad_enabled(self.trains_bilm and torch.is_grad_enabled()):
            bounded = with_boundaries(sentences.long(), self.boundaries, mask)
            tokens, real = encoded_tokens(self.bilm, bounded, distinct=self.encode_distinct)
            layers = self.bilm.layers_of(tokens, real.sum(dim=1))
            mask = sent_to(device, mask)
            return layers[:, :, 1:-1] * mask[:, :, None], mask  # end boundaries of shorter sentences are at padding


def with_boundaries(tokens: Tensor, boundaries: Tensor, mask: Bool[Tensor, "B T"]) -> Tensor:
    """Rows (B,T+2,...) with the first boundary before each sentence and the second right after its last token."""
    bounded = functional.pad(tokens, (0, 0, 1, 1))
    bounded[:, 0] = boundaries[0]
    bounded[torch.arange(len(tokens), device=tokens.device), sentence_lengths(mask) + 1] = boundaries[1]
    return bounded


def encoded_tokens(
    bilm: BiLM, ids: Int[Tensor, "B U C"], *, distinct: bool
) -> tuple[Float[Tensor, "B U D"], Bool[Tensor, "B U"]]:
    """Token representations, and the mask. With `distinct`, a token that occurs several times is encoded once.

    The mask is on the device of the ids, even if the biLM is on another.
    """
    real = (ids > 0).any(dim=2)
    if distinct:
        rows, which = cast("tuple[Tensor, Tensor]", ids[real].unique(dim=0, return_inverse=True))
        encoded = bilm.encode_tokens(rows)
        encoded = encoded[sent_to(encoded.device, which)]
    else:
        encoded = bilm.encode_tokens(ids[real])
    tokens = encoded.new_zeros(*real.shape, encoded.shape[1])
    tokens[real] = encoded
    return tokens, real


class _Shared:
    """Frozen layers that copies of the module share: they never change, and may be gigabytes."""

    def __init__(self, layers: VectorSource) -> None:
        self.layers = layers

    def __deepcopy__(self, memo: object) -> _Shared:
        return self


def _checked_choice(layers: LayerChoice, *, num_layers: int) -> LayerChoice:
    if not isinstance(layers, str):
        return cast("LayerChoice", as_layers(layers, top=num_layers - 1))
    if layers not in ("mix", "top", "average"):
        raise ValueError(f"layers is {layers!r}; expected mix, top, average, a number, or a weight for each layer")
    return layers
