"""Config of a biLM: what differs between the published `options.json` files (Peters et al., 2018; bilm-tf)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elmokit.runs.settings import check_bounds, check_choices
from elmokit.text.character_numbers import NUM_CHARACTERS, SHIFT

ACTIVATIONS = ("relu", "tanh")
MAX_CHARACTERS = 1 << 16
_MOST: dict[str, float] = {
    **dict.fromkeys(("character_dim", "projection_dim", "lstm_dim", "num_filters", "word_dim"), 1 << 20),
    **dict.fromkeys(("num_highway_layers", "num_layers", "number of filter groups"), 64),
    **dict.fromkeys(("cell_clip", "projection_clip"), 1e30),
    **dict.fromkeys(("num_words", "num_symbols"), 1 << 26),
    "max_characters_per_token": MAX_CHARACTERS,
}
"""Far above any biLM (the released ones have 7 groups of filters, 2 layers, width 4096), but low enough to be fast."""
_FIELDS_IN_FINGERPRINTS = (
    *("filters", "character_dim", "num_characters", "max_characters_per_token", "activation", "num_highway_layers"),
    *("projection_dim", "lstm_dim", "num_layers", "cell_clip", "projection_clip", "use_skip_connections"),
    "bidirectional",
)


@dataclass(frozen=True)
class LookupConfig:
    """Sizes of a model that reads tokens by their numbers in dictionaries, not by their bytes (`LookupEncoder`)."""

    num_words: int
    """Number of words in the dictionary; 0 if words are not read as a whole."""
    word_dim: int
    """Width of a word's embedding."""
    num_symbols: int
    """Number of characters in the dictionary; 0 if characters are not read."""
    padding_symbol: int
    """The dictionary's number for the symbol that fills a row after a token's last character."""
    projects: bool
    """Whether the vectors of word and characters are projected. If not, their joint width is `projection_dim`."""

    def __post_init__(self) -> None:
        if bool(self.num_words) != bool(self.word_dim) or not (self.num_words or self.num_symbols):
            sizes = f"{self.num_words} words of width {self.word_dim} and {self.num_symbols} characters"
            raise ValueError(f"lookup has {sizes}; expected words of at least width 1, or characters, or both")
        if self.num_symbols and self.padding_symbol >= self.num_symbols:
            raise ValueError(f"lookup.padding_symbol is {self.padding_symbol}; expected less than {self.num_symbols}")

    @property
    def num_word_rows(self) -> int:
        """Rows of the table of words: one for each, and row 0 for the padding token; 0 without words."""
        return self.num_words + SHIFT if self.num_words else 0

    @property
    def num_symbol_rows(self) -> int:
        """Rows of the table of characters: one for each, and row 0 for the padding token; 0 without characters."""
        return self.num_symbols + SHIFT if self.num_symbols else 0

    @property
    def padding_id(self) -> int:
        """The id that fills a row after a token's last character; 0 without characters."""
        return self.padding_symbol + SHIFT if self.num_symbols else 0


@dataclass(frozen=True)
class BiLMConfig:
    """Sizes and switches of a biLM. The defaults are the released `original` model (2x4096_512_2048cnn_2xhighway)."""

    filters: tuple[tuple[int, int], ...] = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
    """(width in characters, number) of each group of convolution filters, in the order of their outputs."""
    character_dim: int = 16
    """Width of a character embedding."""
    num_characters: int = 262
    """262, or 261 as in options for training; both mean the same model (row 0 is the padding token)."""
    max_characters_per_token: int = 50
    """Number of characters (bytes and the two word boundaries) that a token is cut or padded to."""
    activation: str = "relu"
    """Activation after the convolutions: relu or tanh. Highway layers always use relu."""
    num_highway_layers: int = 2
    """Number of highway layers between convolutions and projection; may be 0."""
    projection_dim: int = 512
    """Width D of the token representation and of every LSTM output."""
    lstm_dim: int = 4096
    """Width H of the LSTM cells; if it equals `projection_dim`, the LSTM has no projection."""
    num_layers: int = 2
    """Number of LSTM layers in each direction."""
    cell_clip: float | None = 3.0
    """Cells are clipped to +- this value; None for no clipping."""
    projection_clip: float | None = 3.0
    """Projected outputs are clipped to +- this value; None for no clipping."""
    use_skip_connections: bool = True
    """Whether every LSTM layer except the first adds its input to its output."""
    bidirectional: bool = True
    """Whether there is a backward language model; False for a forward one only."""
    lookup: LookupConfig | None = None
    """For a model that reads tokens by their numbers in dictionaries; None for one that reads bytes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "filters", tuple((int(width), int(number)) for width, number in self.filters))
        sizes = vars(self) | ({} if self.lookup is None else vars(self.lookup))
        sizes |= {"number of filter groups": len(self.filters), "num_filters": self.num_filters}
        for name, most in _MOST.items():
            if (sizes.get(name) or 0) > most:
                raise ValueError(f"{name} is {sizes[name]:,}; expected at most {most:,}")
        widths = ("character_dim", "projection_dim", "lstm_dim", "num_layers")
        check_bounds(self, positive=widths, counts=("num_highway_layers",))
        check_choices(self, {"activation": ACTIVATIONS})
        if bool(self.filters) != self.reads_characters or any(min(pair) < 1 for pair in self.filters):
            raise ValueError(f"filters are {self.filters!s:.80}; expected at least one (width, number), all positive")
        widest = max((width for width, _ in self.filters), default=0)
        if self.max_characters_per_token < max(widest, 3):
            least = f"at least 3 (word boundaries and a byte) and at least the widest filter ({widest})"
            raise ValueError(f"max_characters_per_token is {self.max_characters_per_token}; it must be {least}")
        if self.num_characters not in (261, 262):
            raise ValueError(f"num_characters is {self.num_characters}; a byte-level biLM has 261 (training) or 262")
        if self.projection_dim > self.lstm_dim:
            raise ValueError(f"projection_dim {self.projection_dim} is wider than lstm_dim {self.lstm_dim}")
        width = self.token_width
        if self.lookup is not None and not self.lookup.projects and width != self.projection_dim:
            raise ValueError(f"projection_dim is {self.projection_dim}; without lookup.projects, expected {width}")
        for name in ("cell_clip", "projection_clip"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value}; expected a positive number, or none for no clipping")
            object.__setattr__(self, name, None if value is None else float(value))  # 3 and 3.0 are one config

    def text(self) -> str:
        """The text that fingerprints hash; the lookup is hashed separately.

        A field that is added later may only appear here if it is not at its default: fingerprints must stay the same.
        """
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in _FIELDS_IN_FINGERPRINTS)
        return f"BiLMConfig({values})"

    @property
    def reads_characters(self) -> bool:
        """Whether the model reads bytes or characters of a token, not only its number in a dictionary."""
        return self.lookup is None or self.lookup.num_symbols > 0

    @property
    def row_width(self) -> int:
        """Number of ids per token: one for a word of a dictionary, and `max_characters_per_token` for characters."""
        if self.lookup is None:
            return self.max_characters_per_token
        return bool(self.lookup.num_words) + self.reads_characters * self.max_characters_per_token

    @property
    def padding_rows(self) -> dict[str, int]:
        """Tensors whose row 0 represents the padding token and is zeros, with the width of the row."""
        if self.lookup is None:
            return {"char_encoder.embedding.weight": self.character_dim}
        words = {"char_encoder.words.weight": self.lookup.word_dim} if self.lookup.num_words else {}
        return words | ({"char_encoder.characters.embedding.weight": self.character_dim} if self.filters else {})

    @property
    def num_filters(self) -> int:
        return sum(number for _, number in self.filters)

    @property
    def token_width(self) -> int:
        """Width of a token's vector before the projection."""
        return self.num_filters + (0 if self.lookup is None else self.lookup.word_dim)

    @property
    def num_directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def output_dim(self) -> int:
        """Width of a layer activation: 2D, or D in a forward model."""
        return self.num_directions * self.projection_dim

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of all weights except the softmax, as in `BiLM.state_dict()` and the native format."""
        shapes = self._token_shapes()
        for direction in ("forward_lstm", "backward_lstm")[: self.num_directions]:
            for index in range(self.num_layers):
                layer = f"{direction}.layers.{index}"
                shapes[f"{layer}.input_weight"] = (4 * self.lstm_dim, self.projection_dim)
                shapes[f"{layer}.recurrent_weight"] = (4 * self.lstm_dim, self.projection_dim)
                shapes[f"{layer}.bias"] = (4 * self.lstm_dim,)
                if self.projection_dim != self.lstm_dim:
                    shapes[f"{layer}.projection_weight"] = (self.projection_dim, self.lstm_dim)
        return shapes

    def _token_shapes(self) -> dict[str, tuple[int, ...]]:
        """Weights of layer 0."""
        if self.lookup is None:
            shapes = self._character_shapes("char_encoder", num_rows=NUM_CHARACTERS)
            projects = self.num_filters != self.projection_dim
        else:
            shapes = dict[str, tuple[int, ...]]()
            if self.lookup.num_words:
                shapes["char_encoder.words.weight"] = (self.lookup.num_word_rows, self.lookup.word_dim)
            if self.reads_characters:
                shapes |= self._character_shapes("char_encoder.characters", num_rows=self.lookup.num_symbol_rows)
            projects = self.lookup.projects
        if projects:
            shapes["char_encoder.projection.weight"] = (self.projection_dim, self.token_width)
            shapes["char_encoder.projection.bias"] = (self.projection_dim,)
        return shapes

    def _character_shapes(self, prefix: str, *, num_rows: int) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {f"{prefix}.embedding.weight": (num_rows, self.character_dim)}
        num_filters = self.num_filters
        for index, (width, number) in enumerate(self.filters):
            shapes[f"{prefix}.convolutions.{index}.weight"] = (number, self.character_dim, width)
            shapes[f"{prefix}.convolutions.{index}.bias"] = (number,)
        for index in range(self.num_highway_layers):
            for part in ("transform", "gate"):
                shapes[f"{prefix}.highways.{index}.{part}.weight"] = (num_filters, num_filters)
                shapes[f"{prefix}.highways.{index}.{part}.bias"] = (num_filters,)
        return shapes

    @property
    def num_parameters(self) -> int:
        """Number of trainable parameters, without the softmax and the padding token's row, as counted in the paper."""
        return sum(math.prod(shape) for shape in self.tensor_shapes().values()) - sum(self.padding_rows.values())
