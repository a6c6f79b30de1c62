"""AllenNLP's ELMo classes on elmokit's biLM: old training scripts change their import, and nothing else.

Arguments, results, names of parameters and numbers are the same as in AllenNLP 0.9 to 2.10
(`allennlp/modules/elmo.py`, `scalar_mix.py`, `token_embedders/elmo_token_embedder.py`, `commands/elmo.py`). One thing
differs: unless `stateful=True`, no LSTM state is carried from batch to batch, so a sentence has the same vectors in
every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

import torch
from torch import Tensor, nn

from elmokit.formats.read import read_bilm
from elmokit.integrations.allennlp_bilm import AllenNLPBiLM
from elmokit.integrations.allennlp_embedder import (
    DEFAULT_OPTIONS_FILE,
    DEFAULT_WEIGHT_FILE,
    ElmoEmbedder,
    checked_options,
)
from elmokit.model.bilm import BiLM
from elmokit.text.characters import batch_character_ids

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

__all__ = [
    "DEFAULT_OPTIONS_FILE",
    "DEFAULT_WEIGHT_FILE",
    "Elmo",
    "ElmoEmbedder",
    "ElmoTokenEmbedder",
    "batch_to_ids",
]


class ElmoOutput(TypedDict):
    """What `Elmo` returns; `forward` says what it is."""

    elmo_representations: list[Tensor]
    mask: Tensor


def batch_to_ids(batch: Sequence[Sequence[str]]) -> Int[Tensor, "B T 50"]:
    """Character ids (sentences, tokens of the longest, 50) of token lists; rows of zeros are padding.

    Raises ValueError for a sentence that is a string.
    """
    return torch.from_numpy(batch_character_ids(batch)).long()


class Elmo(nn.Module):
    """Character ids -> `num_output_representations` learned mixes of the biLM's layers, in a dictionary.

    options_file, weight_file: the released pair; or any model that elmokit opens, or the name of a bundled one, as
        `options_file`, with None as `weight_file`.
    requires_grad: whether to train the biLM of the files; a `module` keeps what its parameters say.
    do_layer_norm: whether to normalise each layer first, over the whole batch with its sentence boundaries.
    dropout: rate of the dropout after each mix.
    vocab_to_cache: words whose token representations are computed once; `word_inputs` are their indices in this list,
        whose first word stands for padding.
    keep_sentence_boundaries: whether the result has the vectors of `<S>` and `</S>`, two more than there are tokens.
    scalar_mix_parameters: weights of the layers before the softmax; the mixes are then not trained.
    module: a `BiLM` in place of the two files.
    stateful: whether the LSTM state is carried from batch to batch, row by row, as AllenNLP always does.

    Raises ValueError if there are more or fewer weights than layers or if the module is not a `BiLM`, and the errors of
    `Elmo.from_pretrained`.
    """

    def __init__(
        self,
        options_file: str | Path | None,
        weight_file: str | Path | None,
        num_output_representations: int,
        requires_grad: bool = False,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        vocab_to_cache: Sequence[str] | None = None,
        keep_sentence_boundaries: bool = False,
        scalar_mix_parameters: Sequence[float] | None = None,
        module: BiLM | None = None,
        *,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        if module is not None and (options_file is not None or weight_file is not None):
            raise ValueError("a module and files were given; expected either, with None for the other")
        if not (module is None or isinstance(module, BiLM)):
            raise ValueError(
                f"module is of type {type(module).__name__}; expected a BiLM, such as elmokit.Elmo(...).bilm; "
                "modules that return activations and a mask, as in AllenNLP, are not run"
            )
        if module is None:
            module = read_bilm(checked_options(options_file, weight_file), weight_file).requires_grad_(requires_grad)
        self._elmo_lstm = AllenNLPBiLM(module, vocab_to_cache=vocab_to_cache, stateful=stateful)
        self._keep_sentence_boundaries = keep_sentence_boundaries
        self._dropout = nn.Dropout(p=dropout)
        self._num_mixes = num_output_representations
        for number in range(num_output_representations):
            mix = _ScalarMix(
                self._elmo_lstm.num_layers, do_layer_norm=do_layer_norm, scalar_parameters=scalar_mix_parameters
            )
            self.add_module(f"scalar_mix_{number}", mix)

    def get_output_dim(self) -> int:
        """Width 2D of a representation."""
        return self._elmo_lstm.get_output_dim()

    def reset_states(self) -> None:
        """Start the next batch from zeros; a module that is not stateful always does."""
        self._elmo_lstm.reset_states()

    def forward(self, inputs: Tensor | None, word_inputs: Tensor | None = None) -> ElmoOutput:
        """`elmo_representations`, tensors (B,T,2D) that are zero at padding, and `mask` (B,T), true on tokens.

        inputs: character ids (B,T,C) of `batch_to_ids`, or (B,...,T,C); further axes are kept. None if all words are in
            `vocab_to_cache`.
        word_inputs: indices (B,T) or (B,...,T) in `vocab_to_cache`, 0 at padding. `inputs` is used if one is too large.
        Raises ValueError if `inputs` is None but needed.
        """
        if inputs is None and word_inputs is None:
            raise ValueError("neither character ids nor word_inputs were given; expected one of them")
        shape = cast("Tensor", inputs).shape[:-1] if word_inputs is None else word_inputs.shape
        rows = shape[:-1].numel()  # -1 is ambiguous without tokens
        words = None if word_inputs is None else word_inputs.reshape(rows, shape[-1])
        characters = None if inputs is None else inputs.reshape(rows, *inputs.shape[-2:])
        layers, mask = self._elmo_lstm(characters, words)
        mixes = [self.get_submodule(f"scalar_mix_{number}")(layers, mask) for number in range(self._num_mixes)]
        if not self._keep_sentence_boundaries:
            mask = mask[:, 2:]  # a sentence has two boundaries more than it has tokens
            mixes = [mix[:, 1:-1] * mask[:, :, None] for mix in mixes]
        if len(shape) > 2:
            mask = mask.unflatten(0, shape[:-1])
            mixes = [mix.unflatten(0, shape[:-1]) for mix in mixes]
        return {"elmo_representations": [self._dropout(mix) for mix in mixes], "mask": mask}


class ElmoTokenEmbedder(nn.Module):
    """Character ids (B,T,C) -> one mix of the biLM's layers (B,T,2D), or (B,T,P) if it is projected.

    projection_dim: width P of a learned projection of the mix. The other arguments are the same as for `Elmo`. Without
        files, the model is `original`.
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        do_layer_norm: bool = False,
        dropout: float = 0.5,
        requires_grad: bool = False,
        projection_dim: int | None = None,
        vocab_to_cache: Sequence[str] | None = None,
        scalar_mix_parameters: Sequence[float] | None = None,
        *,
        stateful: bool = False,
    ) -> None:
        super().__init__()
        if options_file is None and weight_file is None:
            options_file, weight_file = DEFAULT_OPTIONS_FILE, DEFAULT_WEIGHT_FILE
        self._elmo = Elmo(
            options_file,
            weight_file,
            1,
            requires_grad=requires_grad,
            do_layer_norm=do_layer_norm,
            dropout=dropout,
            vocab_to_cache=vocab_to_cache,
            scalar_mix_parameters=scalar_mix_parameters,
            stateful=stateful,
        )
        self.output_dim = projection_dim or self._elmo.get_output_dim()
        self._projection = nn.Linear(self._elmo.get_output_dim(), projection_dim) if projection_dim else None

    def get_output_dim(self) -> int:
        """Width of a vector."""
        return self.output_dim

    def reset_states(self) -> None:
        """Start the next batch from zeros; a module that is not stateful always does."""
        self._elmo.reset_states()

    def forward(self, elmo_tokens: Tensor | None, word_inputs: Tensor | None = None) -> Tensor:
        """Vectors of the tokens; takes the same arguments as `Elmo`. At padding, a projection gives its bias."""
        (vectors,) = self._elmo(elmo_tokens, word_inputs)["elmo_representations"]
        return vectors if self._projection is None else self._projection(vectors)


class _ScalarMix(nn.Module):
    """`elmokit.ScalarMix` with the parameters of AllenNLP's: a weight of shape (1,) for each layer, and gamma (1,)."""

    def __init__(self, num_layers: int, *, do_layer_norm: bool, scalar_parameters: Sequence[float] | None) -> None:
        super().__init__()
        trained = scalar_parameters is None
        values = [0.0] * num_layers if scalar_parameters is None else scalar_parameters
        if len(values) != num_layers:
            raise ValueError(f"scalar_mix_parameters are {list(values)}; the model has {num_layers} layers")
        self.do_layer_norm = do_layer_norm
        self.scalar_parameters = nn.ParameterList(
            nn.Parameter(torch.tensor([float(value)]), requires_grad=trained) for value in values
        )
        self.gamma = nn.Parameter(torch.ones(1), requires_grad=trained)

    def forward(self, layers: Float[Tensor, "L B U E"], mask: Bool[Tensor, "B U"]) -> Float[Tensor, "B U E"]:
        if self.do_layer_norm:
            layers = _normalised(layers, mask)
        weights = torch.cat(list(self.scalar_parameters)).softmax(dim=0)
        return self.gamma * torch.einsum("l,lbue->bue", weights, layers)


def _normalised(layers: Float[Tensor, "L B U E"], mask: Bool[Tensor, "B U"]) -> Float[Tensor, "L B U E"]:
    """Layers of mean 0 and variance 1 over all real positions, boundaries included; padding gets other values."""
    wide = layers.to(torch.promote_types(layers.dtype, torch.float32))  # no sum in float16 exceeds 65,504
    real = mask[:, :, None].to(wide.dtype)
    count = mask.sum() * wide.shape[-1]
    mean = wide.sum(dim=(1, 2, 3), keepdim=True) / count  # padding is zero
    variance = ((wide - mean) * real).square().sum(dim=(1, 2, 3), keepdim=True) / count
    return ((wide - mean) / torch.sqrt(variance + 1e-12)).to(layers.dtype)
