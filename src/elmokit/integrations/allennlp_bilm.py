"""The biLM as AllenNLP runs it: it adds boundaries, caches words and, on request, carries the LSTM state.

Its state dict has AllenNLP's names and layout, so that weights of trained AllenNLP models load, and ours load there. A
round trip changes a forget bias by the rounding of adding 1 (6e-8); everything else stays the same bit for bit. Models
without a counterpart in AllenNLP (no projection, or no backward direction) keep the names of elmokit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final, TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.elmo.embedding import encoded_tokens, with_boundaries
from elmokit.formats.importers.allennlp import names_of
from elmokit.formats.importers.layouts import module_rows
from elmokit.layers.projected_lstm import LSTMState
from elmokit.model.bilm import BiLMState
from elmokit.system.batches import batched
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE, character_ids

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from elmokit.model.bilm import BiLM
    from elmokit.model.config import BiLMConfig

_OWN = "bilm."
_NAMES = names_of("")
_BLOCK = 1024  # words whose representations are computed at once


class BiLMActivations(TypedDict):
    """Each layer (B,T+2,2D), with the boundaries and zero at padding, and the mask (B,T+2)."""

    activations: list[Tensor]
    mask: Tensor


class AllenNLPBiLM(nn.Module):
    """Character ids (B,T,C) without boundaries -> the layers (B,T+2,2D) with them, zero at padding, and the mask.

    bilm: a biLM that reads bytes. Its parameters decide whether it is trained.
    vocab_to_cache: words whose token representations are computed once; `word_ids` are their indices in this list.
        The first word is padding, with a representation of zeros, as in AllenNLP's vocabularies. The representations
        of the boundaries next to these words are computed once too, and never trained.
    stateful: whether each row of a batch starts with the final state of the same row in the previous batch.
    """

    def __init__(self, bilm: BiLM, *, vocab_to_cache: Sequence[str] | None = None, stateful: bool = False) -> None:
        super().__init__()
        if bilm.config.lookup is not None:
            raise ValueError(
                "the model looks its words up in dictionaries, but AllenNLP's classes pass the bytes of each word; "
                "use elmokit.ElmoEmbedding, which takes lists of tokens"
            )
        self.bilm = bilm
        self.num_layers: Final = bilm.config.num_layers + 1
        self.stateful = stateful
        self._states: list[Tensor] | None = None
        boundaries = [BEGIN_SENTENCE, END_SENTENCE]
        self._boundaries = _character_ids(bilm, boundaries)  # no buffers: `to("meta")` and `to_empty` would lose them
        self._boundary_vectors: Tensor | None = None
        self._word_embedding: nn.Embedding | None = None
        if vocab_to_cache:
            self._boundary_vectors = _token_vectors(bilm, boundaries)
            vectors = _token_vectors(bilm, vocab_to_cache)
            vectors[0] = 0.0
            trains = any(parameter.requires_grad for parameter in bilm.parameters())
            self._word_embedding = nn.Embedding.from_pretrained(vectors, freeze=not trains, padding_idx=0)
        if bilm.config.bidirectional and bilm.config.num_filters != bilm.config.projection_dim != bilm.config.lstm_dim:
            self.register_state_dict_post_hook(_on_save)  # AllenNLP has no names for other models
            self.register_load_state_dict_pre_hook(_on_load)

    @property
    def _elmo_lstm(self) -> AllenNLPBiLM:
        """AllenNLP's path to `stateful` and `reset_states`: `elmo._elmo_lstm._elmo_lstm`."""
        return self

    def get_output_dim(self) -> int:
        """Width 2D of a layer."""
        return self.bilm.config.output_dim

    def reset_states(self, mask: Bool[Tensor, " B"] | None = None) -> None:
        """Start the next batch from zeros. With a mask, only its true rows do."""
        if mask is None or self._states is None:
            self._states = None
        else:
            rows = mask.nonzero().squeeze(1)
            self._states = [part.index_fill(0, rows, 0.0) for part in self._states]

    def forward(
        self, inputs: Int[Tensor, "B T C"] | None, word_ids: Int[Tensor, "B T"] | None = None
    ) -> BiLMActivations:
        """The layers and the mask. `word_ids`, 0 at padding, replace `inputs` if all are in the cache.

        Raises ValueError for character ids of another width than the model's, and if they are None but needed.
        """
        words = self._word_embedding
        if words is not None and word_ids is not None and bool((word_ids < words.num_embeddings).all()):
            mask = word_ids > 0
            tokens, bounded = self._cached(words, word_ids, mask)
        elif inputs is None:
            raise ValueError(
                "inputs is None, but some of word_inputs are not in vocab_to_cache; give the character ids of the words"
            )
        else:
            self.bilm.check_ids(inputs)
            mask = (inputs > 0).any(dim=2)
            ids = with_boundaries(inputs.long(), self._boundaries.to(inputs.device), mask)
            tokens, bounded = encoded_tokens(self.bilm, ids, distinct=True)
        before = self._states if self.stateful else None
        rows = None if before is None else _state([_first_rows(kept, len(tokens)) for kept in before], self.bilm.config)
        output = self.bilm.contextualise(tokens, bounded.sum(dim=1).cpu(), rows)
        if self.stateful:
            new = _tensors(output.state)
            later = zip(new, before or new, strict=True)
            self._states = [torch.cat([own, old[len(own) :]]) for own, old in later]  # rows of a larger batch stay
        return {"activations": list(output.layers), "mask": bounded}

    def _cached(
        self, words: nn.Embedding, word_ids: Int[Tensor, "B T"], mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B U D"], Bool[Tensor, "B U"]]:
        tokens = words(word_ids)
        lengths = mask.sum(dim=1, keepdim=True)
        bounded = torch.arange(mask.shape[1] + 2, device=mask.device) < lengths + 2
        assert self._boundary_vectors is not None
        return with_boundaries(tokens, self._boundary_vectors.to(tokens), mask), bounded


def _character_ids(bilm: BiLM, tokens: Sequence[str]) -> Int[Tensor, "N C"]:
    ids = character_ids(tokens, max_characters_per_token=bilm.config.max_characters_per_token)
    return torch.from_numpy(ids).long()


@torch.no_grad()
def _token_vectors(bilm: BiLM, words: Sequence[str]) -> Float[Tensor, "N D"]:
    """Token representations of words, computed in blocks: the char encoder needs some 100 KiB for each."""
    device = bilm.char_encoder.embedding.weight.device
    blocks = (_character_ids(bilm, block).to(device) for block in batched(words, size=_BLOCK))
    return torch.cat([bilm.encode_tokens(block) for block in blocks])


def _first_rows(kept: Float[Tensor, "B D"], num_rows: int) -> Float[Tensor, "N D"]:
    """The first rows of a part of the state; a row that it does not have is zero."""
    return functional.pad(kept[:num_rows], (0, 0, 0, max(0, num_rows - len(kept))))


def _tensors(state: BiLMState) -> list[Tensor]:
    """Cells and outputs of all layers, forward first, without their gradients."""
    return [part.detach() for layer in chain(*state.directions) for part in (layer.cell, layer.output)]


def _state(tensors: Sequence[Tensor], config: BiLMConfig) -> BiLMState:
    """The state from the result of `_tensors`."""
    layers = tuple(map(LSTMState, tensors[::2], tensors[1::2]))
    directions = layers[: config.num_layers], layers[config.num_layers :]
    return BiLMState(directions[: config.num_directions])


def _on_save(module: AllenNLPBiLM, state_dict: dict[str, Tensor], prefix: str, _: object) -> None:
    for row in module_rows(module.bilm.config, _NAMES):
        native = [state_dict.pop(f"{prefix}{_OWN}{name}") for name in row.native]
        state_dict[prefix + row.name] = row.save(native[0] if len(native) == 1 else torch.cat(native))


def _on_load(
    module: AllenNLPBiLM,
    state_dict: dict[str, Tensor],
    prefix: str,
    local_metadata: Mapping[str, object],
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
) -> None:
    """Load tensor by tensor. One that is missing, or has another shape, stays as it is, and torch reports it."""
    for row in module_rows(module.bilm.config, _NAMES):
        name = prefix + row.name
        values = [module.get_parameter(_OWN + native).detach() for native in row.native]
        theirs = state_dict.pop(name, None)
        if theirs is None:
            missing_keys.append(name)
        elif tuple(theirs.shape) != row.shape:
            said = f"has shape {tuple(theirs.shape)}; the biLM of this module calls for {row.shape}"
            error_msgs.append(f"{name} {said}")
        else:
            assigned = local_metadata.get("assign_to_params_buffers", False)  # then the parameters take their type
            dtype = theirs.dtype if assigned else torch.promote_types(theirs.dtype, torch.float32)
            values = row.load(theirs.detach().to(dtype))
        state_dict.update(zip((f"{prefix}{_OWN}{native}" for native in row.native), values, strict=True))
