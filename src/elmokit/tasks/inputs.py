"""What a task model reads of its tokens: word vectors, characters, ELMo. Models do not know if ELMo is among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn

from elmokit.elmo.embedding import ElmoEmbedding
from elmokit.layers.char_encoder import CharEncoder
from elmokit.tasks.word_table import WordEmbedding
from elmokit.text.character_numbers import NUM_CHARACTERS, PADDING_ID
from elmokit.text.characters import character_ids
from elmokit.text.corpora.cells import numbers_between_commas

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from elmokit.elmo.embedding import LayerChoice
    from elmokit.layers.scalar_mix import ScalarMix, SingleLayer
    from elmokit.model.bilm import BiLM
    from elmokit.model.vector_source import VectorSource
    from elmokit.tasks.config import ElmoInput, InputConfig
    from elmokit.tasks.word_table import WordTable


@dataclass(frozen=True)
class EncodedTokens:
    """A batch of token lists, padded."""

    inputs: Float[Tensor, "B T I"]
    """Input of the first encoder: word vectors, characters, and ELMo if it is at the input. Zero at padding."""
    outputs: Float[Tensor, "B T O"]
    """Vectors to be concatenated with the first encoder's output: ELMo if it is at the output; otherwise O = 0."""
    mask: Bool[Tensor, "B T"]
    """True on real tokens."""


class TokenInputs(nn.Module):
    """Token lists -> `EncodedTokens`. `tasks/weights.py` opens the files it needs.

    words: the words with their vectors; None for a config without word vectors.
    elmo: layers that do not change, or the biLM itself, which is then trained; None for a config without ELMo.
    """

    input_dim: int
    output_dim: int

    def __init__(
        self, config: InputConfig, *, words: WordTable | None = None, elmo: VectorSource | BiLM | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.words: WordEmbedding | None = None
        self.characters: _CharacterCNN | None = None
        self.elmo: ElmoEmbedding | None = None
        self.input_dim = self.output_dim = 0
        if words is not None:
            self.words = WordEmbedding(words, lower_case=config.lower_case)
            self.input_dim += self.words.dim
        if config.character_dim:
            self.characters = _CharacterCNN(config)
            self.input_dim += self.characters.dim
        self.positions = () if config.elmo is None else config.elmo.positions
        if elmo is not None and config.elmo is not None:
            self.elmo = _new_embedding(config.elmo, elmo)
            self.input_dim += self.elmo.output_dim if "input" in self.positions else 0
            self.output_dim += self.elmo.output_dim if "output" in self.positions else 0
        self.register_buffer("_device", torch.empty(0), persistent=False)

    def forward(self, sentences: Sequence[Sequence[str]]) -> EncodedTokens:
        """Encode a batch of sentences. Raises ValueError if no sentence has a token."""
        device = cast("Tensor", self._device).device
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        if len(sentences) == 0 or int(lengths.max()) == 0:
            raise ValueError(f"{len(sentences)} sentences without a token; expected at least one token")
        mask = (torch.arange(int(lengths.max())) < lengths[:, None]).to(device)
        empty = torch.zeros(*mask.shape, 0, device=device)
        inputs, outputs = [empty], [empty]
        if self.words is not None:
            inputs.append(self.words(sentences, mask))
        if self.characters is not None:
            inputs.append(self.characters(sentences, mask))
        if self.elmo is not None:
            for position, vectors in zip(self.positions, self.elmo(sentences).mixes, strict=True):
                (inputs if position == "input" else outputs).append(vectors)
        return EncodedTokens(torch.cat(inputs, dim=2), torch.cat(outputs, dim=2), mask)

    def measure_scales(self, sentences: Sequence[Sequence[str]]) -> None:
        """Measure the scales of the biLM's layers for ELMo's `rescale`; does nothing without `rescale`."""
        if self.elmo is not None and self.elmo.scales is not None:
            self.elmo.measure_scales(sentences)

    def penalty(self) -> Float[Tensor, ""]:
        """Penalty of ELMo's mixes (`ElmoEmbedding.penalty`), to be added to the loss; zero without ELMo."""
        return cast("Tensor", self._device).new_zeros(()) if self.elmo is None else self.elmo.penalty()

    def mixes(self) -> dict[str, ScalarMix | SingleLayer]:
        """ELMo's mixes by their position, input or output; empty without ELMo."""
        mixes = () if self.elmo is None else cast("Iterable[ScalarMix | SingleLayer]", self.elmo.mixes)
        return dict(zip(self.positions, mixes, strict=True))


class _CharacterCNN(nn.Module):
    """The largest response of each filter over a token's UTF-8 bytes, then a ReLU, computed once per distinct token."""

    def __init__(self, config: InputConfig) -> None:
        super().__init__()
        self.dim = sum(number for _, number in config.character_filters)
        self.max_characters = config.max_characters
        self.encoder = CharEncoder(
            num_characters=NUM_CHARACTERS,
            padding_id=PADDING_ID,
            character_dim=config.character_dim,
            filters=config.character_filters,
            activation="relu",
            num_highway_layers=0,
            projection_dim=self.dim,
        )

    def forward(self, sentences: Sequence[Sequence[str]], mask: Bool[Tensor, "B T"]) -> Float[Tensor, "B T K"]:
        rows: dict[str, int] = {}
        which = [rows.setdefault(token, len(rows)) for sentence in sentences for token in sentence]
        ids = torch.from_numpy(character_ids(list(rows), max_characters_per_token=self.max_characters))
        encoded = self.encoder(ids.to(mask.device))
        batch = encoded.new_zeros(*mask.shape, self.dim)
        batch[mask] = encoded[torch.tensor(which, device=mask.device)]
        return batch


def _new_embedding(config: ElmoInput, layers: VectorSource | BiLM) -> ElmoEmbedding:
    choice = int(config.layers) if config.layers.isdecimal() else numbers_between_commas(config.layers)
    embedding = ElmoEmbedding(
        layers,
        num_mixes=len(config.positions),
        dropout_rate=config.dropout_rate,
        layer_norm=config.layer_norm,
        layers=cast("LayerChoice", config.layers if choice is None else choice),
        rescale=config.rescale,
        penalty_factor=config.penalty,
        encode_distinct=False,  # keeps the order of sums, and so the bits, of runs that train the biLM
        requires_grad=config.train,
    )
    if not config.train_gamma:
        for mix in cast("Iterable[ScalarMix | SingleLayer]", embedding.mixes):
            mix.gamma.requires_grad_(False)
    return embedding
