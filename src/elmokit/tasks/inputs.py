"""What a task model reads of its tokens: word vectors, characters, ELMo. The one place where "with ELMo" is decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

import torch
from torch import Tensor, nn

from elmokit.layers.char_encoder import CharEncoder
from elmokit.layers.scalar_mix import ScalarMix, TopLayer, normalise_layers
from elmokit.tasks.words import WordEmbedding
from elmokit.text.characters import NUM_CHARACTERS, batch_character_ids, character_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jaxtyping import Bool, Float

    from elmokit.model.bilm import BiLM
    from elmokit.tasks.words import WordTable

    Layers = Callable[[Sequence[Sequence[str]]], Float[Tensor, "L B T E"]]

PLACES = ("none", "input", "output", "both")


@dataclass(frozen=True)
class InputConfig:
    """What is known of a token. Defaults: word vectors alone, learnt from nothing."""

    word_vectors: str = ""
    """GloVe, word2vec or fastText file; empty starts the words of the training set at random."""
    word_dim: int = 50
    """Width of the word vectors; 0 uses none. That of the file, if there is one."""
    train_word_vectors: bool = True
    lower_case: bool = True
    """Of the words, not of the characters; GloVe's 6B vectors are lower-cased."""
    min_word_count: int = 1
    """Occurrences in the training set that give a word a vector of its own which the file lacks; the rarer ones share
    the unknown word's, which learns from them."""
    num_extra_words: int = 20_000
    """First words of the file that are kept for new text, though no data set has them."""
    character_dim: int = 0
    """Width of a character of the task's own character CNN; 0 has none."""
    character_filters: tuple[tuple[int, int], ...] = ((3, 128),)
    """(width, number) of its filters."""
    max_characters: int = 50
    """Of a token, its two boundaries included."""
    elmo: str = "none"
    """Where ELMo's vectors go: none, input, output (of the first encoder) or both."""
    elmo_model: str = "mini-en"
    """A bundled model's name, a folder, or a file of another system's vectors (`NAME.npy`, see `VectorsFile`)."""
    elmo_layers: str = "mix"
    """mix (learned weights of all), top, average, or the number of one."""
    elmo_dropout_rate: float = 0.0
    elmo_layer_norm: bool = False
    """Normalise each layer before the mix, over the whole batch: a sentence's vectors then depend on it."""
    elmo_rescale: bool = False
    """Divide each layer by its root mean square over the training set, measured once and kept with the model, so that
    no layer drowns the others: the token layer of `mini-en` is five times as large as its LSTM layers."""
    elmo_penalty: float = 0.0
    """lambda: this times `||w||^2` of the mixes is added to the loss."""
    train_elmo: bool = False
    """Train the biLM too, which is then run in every step instead of once per data set."""

    def __post_init__(self) -> None:
        pairs = tuple((width, number) for width, number in self.character_filters)
        object.__setattr__(self, "character_filters", pairs)
        if self.elmo not in PLACES:
            raise ValueError(f"elmo is {self.elmo!r}; expected {', '.join(PLACES)}")
        if self.elmo_layers not in ("mix", "top", "average") and not self.elmo_layers.isdecimal():
            raise ValueError(f"elmo_layers is {self.elmo_layers!r}; expected mix, top, average or a number")
        if not 0 <= self.elmo_dropout_rate < 1:
            raise ValueError(f"elmo_dropout_rate is {self.elmo_dropout_rate}; expected at least 0 and below 1")
        for name in ("word_dim", "min_word_count", "num_extra_words", "character_dim", "elmo_penalty"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must not be negative")
        widest = max((width for width, _ in pairs), default=1)
        if not pairs or min(min(pair) for pair in pairs) < 1 or self.max_characters < max(widest, 3):
            raise ValueError(
                f"character_filters are {self.character_filters} on {self.max_characters} characters; expected widths "
                "and numbers of 1 and more, and no filter wider than a token"
            )
        if self.word_dim == 0 and self.character_dim == 0 and self.elmo in ("none", "output"):
            raise ValueError("word_dim and character_dim are 0 and ELMo is not at the input: nothing to read")


class FrozenLayers(Protocol):
    """Sentences -> layers (L,B,T,E) that training does not change, zero at padding: `Activations`, `VectorsFile`."""

    num_layers: int
    dim: int

    def add(self, sentences: Iterable[Sequence[str]]) -> None:
        """Make ready for sentences that will be asked for."""
        ...

    def __call__(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]: ...

    def fingerprint(self) -> str:
        """Of all that the layers follow from."""
        ...


@dataclass(frozen=True)
class TokenVectors:
    """A batch of token lists, padded."""

    inputs: Float[Tensor, "B T I"]
    """For the first encoder: word vectors, characters, and ELMo where it is at the input. Zero at padding."""
    outputs: Float[Tensor, "B T O"]
    """To be set beside the first encoder's output: ELMo where it is at the output; else O = 0."""
    mask: Bool[Tensor, "B T"]


class TokenInputs(nn.Module):
    """Token lists -> `TokenVectors`. Made of a config by `tasks/resources.py`, which opens the files that it needs.

    words: None for a config without word vectors.
    elmo: layers that stay as they are, or the biLM itself, which is trained then; None for a config without ELMo.
    """

    input_dim: int
    output_dim: int

    def __init__(
        self, config: InputConfig, *, words: WordTable | None = None, elmo: FrozenLayers | BiLM | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.words: WordEmbedding | None = None
        self.characters: _CharacterCNN | None = None
        self.elmo: _Elmo | None = None
        self.input_dim = self.output_dim = 0
        if (words is None) != (config.word_dim == 0) or (elmo is None) != (config.elmo == "none"):
            raise ValueError("words and elmo must be given where the config has them, and nowhere else")
        if words is not None:
            self.words = WordEmbedding(words, lower_case=config.lower_case)
            self.input_dim += self.words.dim
        if config.character_dim:
            self.characters = _CharacterCNN(config)
            self.input_dim += self.characters.dim
        if elmo is not None:
            self.elmo = _Elmo(config, elmo)
            self.input_dim += self.elmo.dim if self.elmo.input_mix is not None else 0
            self.output_dim += self.elmo.dim if self.elmo.output_mix is not None else 0
        self.register_buffer("_device", torch.empty(0), persistent=False)

    def forward(self, sentences: Sequence[Sequence[str]]) -> TokenVectors:
        """Sentences of at least one token in one of them."""
        device = cast("Tensor", self._device).device
        lengths = torch.tensor([len(sentence) for sentence in sentences])
        if len(sentences) == 0 or int(lengths.max()) == 0:
            raise ValueError(f"{len(sentences)} sentences without a token; expected some")
        mask = (torch.arange(int(lengths.max())) < lengths[:, None]).to(device)
        empty = torch.zeros(*mask.shape, 0, device=device)
        inputs, outputs = [empty], [empty]
        if self.words is not None:
            inputs.append(self.words(sentences))
        if self.characters is not None:
            inputs.append(self.characters(sentences, mask))
        if self.elmo is not None:
            to_input, to_output = self.elmo(sentences, mask)
            inputs.append(empty if to_input is None else to_input)
            outputs.append(empty if to_output is None else to_output)
        return TokenVectors(torch.cat(inputs, dim=2), torch.cat(outputs, dim=2), mask)

    def measure_scales(self, sentences: Sequence[Sequence[str]]) -> None:
        """Of the layers, for `elmo_rescale`; without it nothing happens."""
        if self.elmo is not None and self.config.elmo_rescale:
            self.elmo.measure_scales(sentences)

    def penalty(self) -> Float[Tensor, ""]:
        """`elmo_penalty` times `||w||^2` of the mixes, to be added to the loss; zero without ELMo."""
        mixes = [] if self.elmo is None else self.elmo.mixes
        total = cast("Tensor", self._device).new_zeros(())
        return total + self.config.elmo_penalty * sum((mix.penalty() for mix in mixes), total)


class _CharacterCNN(nn.Module):
    """The largest response of each filter over a token's UTF-8 bytes, then a ReLU; each distinct token once."""

    def __init__(self, config: InputConfig) -> None:
        super().__init__()
        self.dim = sum(number for _, number in config.character_filters)
        self.max_characters = config.max_characters
        self.encoder = CharEncoder(
            num_characters=NUM_CHARACTERS,
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


class _Elmo(nn.Module):
    """Sentences -> ELMo's vectors for the input and for the output, each of a mix of its own, with dropout."""

    def __init__(self, config: InputConfig, source: FrozenLayers | BiLM) -> None:
        super().__init__()
        self.layer_norm = config.elmo_layer_norm
        if isinstance(source, nn.Module):
            if not config.train_elmo:
                raise ValueError("a biLM was given to be trained, but train_elmo is false")
            self.source: Layers = _TrainedBiLM(source)
            self.dim, num_layers = source.config.output_dim, source.config.num_layers + 1
        else:
            self.source = source
            self.dim, num_layers = source.dim, source.num_layers
        self.choice = config.elmo_layers
        if self.choice.isdecimal() and int(self.choice) >= num_layers:
            raise ValueError(f"elmo_layers is {self.choice}; the model has layers 0 to {num_layers - 1}")
        self.register_buffer("scales", torch.ones(num_layers))
        self.dropout = nn.Dropout(config.elmo_dropout_rate)
        self.input_mix = _new_mix(config, num_layers) if config.elmo in ("input", "both") else None
        self.output_mix = _new_mix(config, num_layers) if config.elmo in ("output", "both") else None

    @torch.no_grad()
    def measure_scales(self, sentences: Sequence[Sequence[str]]) -> None:
        """The root mean square of each layer over the tokens of the sentences."""
        scales = cast("Tensor", self.scales)
        squares, num_values = torch.zeros(len(scales), dtype=torch.float64), 0
        for sentence in sentences:
            layers = self.source([sentence]).cpu()
            squares += layers.double().square().sum(dim=(1, 2, 3))
            num_values += layers[0].numel()
        if num_values:
            scales.copy_((squares / num_values).sqrt().clamp(min=1e-6))

    @property
    def mixes(self) -> list[ScalarMix | TopLayer]:
        return [mix for mix in (self.input_mix, self.output_mix) if mix is not None]

    def forward(
        self, sentences: Sequence[Sequence[str]], mask: Bool[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B T E"] | None, Float[Tensor, "B T E"] | None]:
        layers = self.source(sentences).to(mask.device) / cast("Tensor", self.scales)[:, None, None, None]
        if self.choice.isdecimal():
            layers = layers[int(self.choice)][None]
        if self.layer_norm:
            layers = normalise_layers(layers, mask)
        if self.choice == "average":
            layers = layers.mean(dim=0, keepdim=True)
        to_input = None if self.input_mix is None else self.dropout(self.input_mix(layers))
        to_output = None if self.output_mix is None else self.dropout(self.output_mix(layers))
        return to_input, to_output


def _new_mix(config: InputConfig, num_layers: int) -> ScalarMix | TopLayer:
    """The top of a single layer, or of the average alone, is that times a learned gamma."""
    return ScalarMix(num_layers=num_layers) if config.elmo_layers == "mix" else TopLayer()


class _TrainedBiLM(nn.Module):
    """Sentences -> layer activations (L,B,T,2D) with gradients, zero at padding."""

    def __init__(self, bilm: BiLM) -> None:
        super().__init__()
        self.bilm = bilm.requires_grad_(True)

    def forward(self, sentences: Sequence[Sequence[str]]) -> Float[Tensor, "L B T E"]:
        limit = self.bilm.config.max_characters_per_token
        ids = torch.from_numpy(batch_character_ids(sentences, max_characters_per_token=limit, add_boundaries=True))
        output = self.bilm(ids.to(self.bilm.char_encoder.embedding.weight.device))
        mask = output.mask[:, 2:]  # of the tokens without their boundaries
        return output.layers[:, :, 1:-1] * mask[:, :, None]
