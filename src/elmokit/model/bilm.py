"""The biLM: a forward and a backward language model that share a char encoder (Peters et al., 2018, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.layers import stacked
from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.devices import on_meta_device, without_autocast
from elmokit.layers.lookup_encoder import LookupEncoder
from elmokit.layers.masks import reverse, sentence_lengths
from elmokit.layers.projected_lstm import LSTMState, ProjectedLSTM, autocast_dtype
from elmokit.model.config import BiLMConfig
from elmokit.text.character_numbers import NUM_CHARACTERS, PADDING_ID
from elmokit.text.spelling import ByteSpelling, DictionarySpelling, Spelling

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
    from numpy.typing import NDArray

    from elmokit.model.weights import Weights


@dataclass(frozen=True)
class BiLMState:
    """State of the layers of each direction between batches, row by row, forward first."""

    directions: tuple[tuple[LSTMState, ...], ...]

    @property
    def num_rows(self) -> int:
        return len(self.directions[0][0].cell)

    def map(self, change: Callable[[Tensor], Tensor]) -> BiLMState:
        """The state with each of its tensors changed."""
        return BiLMState(tuple(tuple(layer.map(change) for layer in layers) for layers in self.directions))


@dataclass(frozen=True)
class BiLMOutput:
    """Layer activations (L,B,T,2D), zero at padding, with mask and state; layer 0 is the token representation twice."""

    layers: Float[Tensor, "L B T E"]
    mask: Bool[Tensor, "B T"]
    state: BiLMState


class BiLM(nn.Module):
    """Character ids (B,T,C), including the sentence boundaries -> the activations of all layers.

    A model with a `lookup` reads rows of numbers from its dictionaries (`spelling`) instead of character ids.

    A call starts from zeros unless a state is passed, so the vectors of a sentence depend only on that sentence.
    """

    def __init__(self, config: BiLMConfig, spelling: DictionarySpelling | None = None) -> None:
        """A model with random weights; `spelling` has the dictionaries if the config has a `lookup`."""
        super().__init__()
        self.config = config
        self.spelling: Spelling = spelling_of(config, spelling)
        """How tokens become rows of ids."""
        self.char_encoder: CharEncoder | LookupEncoder = _char_encoder(config)
        self.forward_lstm: ProjectedLSTM = _lstm(config)
        self.backward_lstm: ProjectedLSTM | None = _lstm(config) if config.bidirectional else None

    @property
    def lstms(self) -> list[ProjectedLSTM]:
        """The LSTM of each direction, forward first."""
        return [self.forward_lstm] if self.backward_lstm is None else [self.forward_lstm, self.backward_lstm]

    @classmethod
    def from_weights(cls, weights: Weights) -> BiLM:
        """The model in float32, in eval mode.

        Weights in float32 are shared, not copied. Writing to them changes `weights`, but never the file.
        """
        arrays = {name: np.asarray(weights.tensors[name], np.float32) for name in weights.config.tensor_shapes()}
        return cls.from_arrays(weights.config, weights.spelling, arrays)

    @classmethod
    def from_arrays(
        cls, config: BiLMConfig, spelling: DictionarySpelling | None, arrays: Mapping[str, NDArray[Any]]
    ) -> BiLM:
        """The model with these weights, named as in its state dict, in the types they have, in eval mode."""
        with on_meta_device():
            bilm = cls(config, spelling)
        bilm.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()}, assign=True)
        return bilm.eval()

    def forward(self, character_ids: Int[Tensor, "B T C"], state: BiLMState | None = None) -> BiLMOutput:
        """Activations (L,B,T,2D), mask (B,T) and last state of a batch.

        Padding tokens are rows of zeros after the end of a sentence. Raises ValueError for padding before a token, for
        another number of characters than the config's, and for a state with another number of rows.
        """
        self.check_ids(character_ids)
        mask = (character_ids > 0).any(dim=2)
        lengths = sentence_lengths(mask)
        tokens = self.char_encoder.embedding.weight.new_zeros(*mask.shape, self.config.projection_dim)
        tokens[mask] = self.encode_tokens(character_ids[mask]).to(tokens.dtype)
        return self.contextualise(tokens, lengths.cpu(), state)

    def check_ids(self, character_ids: Int[Tensor, "B T C"]) -> None:
        """Raise ValueError for ids of another shape than the config's, that are not whole numbers, or out of range."""
        if character_ids.dim() != 3 or character_ids.shape[2] != self.config.row_width:
            expected = f"expected (sentences, tokens, {self.config.row_width})"
            raise ValueError(f"character ids have shape {tuple(character_ids.shape)}; {expected}")
        if character_ids.is_floating_point():
            raise ValueError(f"character ids are {character_ids.dtype}; expected whole numbers")
        if self.config.lookup is None and character_ids.numel():  # on a GPU, an id without a row ends the process
            low, high = (int(id_) for id_ in character_ids.aminmax())
            if low < 0 or high >= self.char_encoder.embedding.num_embeddings:
                most = self.char_encoder.embedding.num_embeddings - 1
                raise ValueError(f"character ids are from {low} to {high}; expected 0 to {most}")

    def encode_tokens(self, character_ids: Int[Tensor, "N C"]) -> Float[Tensor, "N D"]:
        """Context-independent representations (N,D) of N tokens: layer 0 of the biLM."""
        return self.char_encoder(character_ids)

    def contextualise(
        self, tokens: Float[Tensor, "B T D"], lengths: Int[Tensor, " B"], state: BiLMState | None = None
    ) -> BiLMOutput:
        """All layers from token representations (zero at padding); `lengths` must be on the CPU."""
        if state is not None and state.num_rows != len(tokens):
            raise ValueError(f"the state has {state.num_rows} rows, but the batch has {len(tokens)}")
        order = torch.argsort(lengths, descending=True, stable=True)
        position = torch.argsort(order).to(tokens.device)
        lengths, order = lengths[order], order.to(tokens.device)
        num_steps = tokens.shape[1]
        alive = lengths[:, None] > torch.arange(num_steps, device=lengths.device)
        batch_sizes = cast("list[int]", alive.sum(dim=0).tolist())
        steps = tokens[order].transpose(0, 1)
        mask = alive.to(tokens.device)

        before = [None] * len(self.lstms) if state is None else state.map(lambda rows: rows[order]).directions
        lengths = lengths.to(tokens.device)
        read = [
            lstm(as_read(steps, lengths, direction), before[direction], batch_sizes=batch_sizes)
            for direction, lstm in enumerate(self.lstms)
        ]
        joined = join_directions(steps, [outputs for outputs, _ in read], lengths) * mask[:, :, None]
        last = BiLMState(tuple(tuple(layers) for _, layers in read))
        return BiLMOutput(layers=joined[:, position], mask=mask[position], state=last.map(lambda rows: rows[position]))

    def layers_of(self, tokens: Float[Tensor, "B T D"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "L B T E"]:
        """The layers of `contextualise`, starting from zeros. On a GPU, a product has both directions and padding."""
        if tokens.device.type not in stacked.STACKED_ON or not tokens.numel():
            return self.contextualise(tokens, lengths).layers
        lengths, steps = lengths.to(tokens.device), tokens.transpose(0, 1)
        inputs = torch.stack([as_read(steps, lengths, direction) for direction in range(len(self.lstms))])
        directions, num_steps, rows, dim = inputs.shape
        zeros = inputs.new_zeros(directions, rows, self.config.lstm_dim), inputs.new_zeros(directions, rows, dim)
        with without_autocast(tokens.device):
            outputs, _ = stacked.stacked_lstm(
                stacked.stacked_layers(self.lstms),
                inputs,
                [zeros] * self.config.num_layers,
                use_skip_connections=self.config.use_skip_connections,
                carry=inputs.new_ones(directions, num_steps, rows),
                product_dtype=autocast_dtype(tokens) or tokens.dtype,
            )
        joined = join_directions(steps, list(zip(*outputs, strict=True)), lengths)
        return joined * (torch.arange(num_steps, device=tokens.device) < lengths[:, None])[:, :, None]


def spelling_of(config: BiLMConfig, dictionaries: DictionarySpelling | None) -> Spelling:
    """The dictionaries of a config with a `lookup`, or else the tokens' bytes. Raises ValueError unless they fit."""
    if (config.lookup is None) != (dictionaries is None):
        raise ValueError("expected dictionaries for a model with a lookup, and none for any other model")
    return dictionaries or ByteSpelling(config.max_characters_per_token)


def _char_encoder(config: BiLMConfig) -> CharEncoder | LookupEncoder:
    lookup = config.lookup
    of_characters = partial(
        CharEncoder,
        character_dim=config.character_dim,
        filters=config.filters,
        activation=config.activation,
        num_highway_layers=config.num_highway_layers,
    )
    if lookup is None:
        return of_characters(num_characters=NUM_CHARACTERS, padding_id=PADDING_ID, projection_dim=config.projection_dim)
    characters = None
    if lookup.num_symbols:
        rows, padding_id = lookup.num_symbol_rows, lookup.padding_id
        characters = of_characters(num_characters=rows, padding_id=padding_id, projection_dim=config.num_filters)
    return LookupEncoder(
        words=nn.Embedding(lookup.num_word_rows, lookup.word_dim, padding_idx=0) if lookup.num_words else None,
        characters=characters,
        projection=nn.Linear(config.token_width, config.projection_dim) if lookup.projects else None,
        output_dim=config.projection_dim,
    )


def _lstm(config: BiLMConfig) -> ProjectedLSTM:
    return ProjectedLSTM(
        num_layers=config.num_layers,
        projection_dim=config.projection_dim,
        lstm_dim=config.lstm_dim,
        cell_clip=config.cell_clip,
        projection_clip=config.projection_clip,
        use_skip_connections=config.use_skip_connections,
    )


def as_read(steps: Float[Tensor, "T B D"], lengths: Int[Tensor, " B"], direction: int) -> Float[Tensor, "T B D"]:
    """Steps in the reading order of a direction (0 is forward). The same call brings them back into text order."""
    return steps if direction == 0 else reverse(steps, lengths)


def join_directions(
    steps: Float[Tensor, "T B D"], outputs: Sequence[Sequence[Float[Tensor, "T B D"]]], lengths: Int[Tensor, " B"]
) -> Float[Tensor, "L B T E"]:
    """All layers, from the token representations and the outputs of each direction's layers as it reads them."""
    sides = [
        [steps, *(as_read(output, lengths, direction) for output in layers)] for direction, layers in enumerate(outputs)
    ]
    return torch.stack([torch.cat(layer, dim=2) for layer in zip(*sides, strict=True)]).transpose(1, 2)
