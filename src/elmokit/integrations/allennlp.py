"""AllenNLP's ELMo classes on elmokit's biLM: old training scripts need to change only their import.

Arguments, results, names of parameters and numbers are the same as in AllenNLP 0.9 to 2.10
(`allennlp/modules/elmo.py`, `scalar_mix.py`, `token_embedders/elmo_token_embedder.py`), and for `ElmoEmbedder` as in
0.4 to 0.9 (`commands/elmo.py`). One thing differs: unless `stateful=True`, elmokit does not carry the LSTM state from
batch to batch, so a sentence has the same vectors in every call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict, cast

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.elmo.elmo import Elmo as EncodingElmo
from elmokit.files.hdf5 import write_datasets
from elmokit.files.lines import read_lines
from elmokit.formats.published import find_published
from elmokit.formats.read import read_bilm
from elmokit.integrations.allennlp_bilm import AllenNLPBiLM
from elmokit.model.bilm import BiLM
from elmokit.system.batches import batched
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.text.characters import batch_character_ids, check_sentences

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

DEFAULT_BATCH_SIZE = 64
_ORIGINAL = (
    "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/2x4096_512_2048cnn_2xhighway/"
    "elmo_2x4096_512_2048cnn_2xhighway_"
)
DEFAULT_OPTIONS_FILE = f"{_ORIGINAL}options.json"
DEFAULT_WEIGHT_FILE = f"{_ORIGINAL}weights.hdf5"
"""AllenNLP's addresses of the model `original`."""


class ElmoOutput(TypedDict):
    """The result of `Elmo`; see `forward`."""

    elmo_representations: list[Tensor]
    mask: Tensor


def batch_to_ids(batch: Sequence[Sequence[str]]) -> Int[Tensor, "B T 50"]:
    """Character ids (sentences, tokens of the longest, 50) of token lists; rows of zeros are padding.

    Raises ValueError for a sentence that is a string.
    """
    return torch.from_numpy(batch_character_ids(batch)).long()


class Elmo(nn.Module):
    """Character ids -> `num_output_representations` learned mixes of the biLM's layers, in a dictionary.

    options_file, weight_file: the released pair. Or give any model that elmokit opens, or the name of a bundled one, as
        `options_file`, and None as `weight_file`.
    requires_grad: whether to train the biLM of the files; a `module` keeps the setting of its parameters.
    do_layer_norm: whether to normalise each layer first, over the whole batch with its sentence boundaries.
    dropout: rate of the dropout after each mix.
    vocab_to_cache: words whose token representations are computed once; `word_inputs` are their indices in this list.
        Its first word means padding.
    keep_sentence_boundaries: whether the result has the vectors of `<S>` and `</S>` too, two more than tokens.
    scalar_mix_parameters: weights of the layers before the softmax; the mixes are then not trained.
    module: a `BiLM` instead of the two files.
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
            raise ValueError("both a module and files were given; expected one of them, and None for the other")
        if not (module is None or isinstance(module, BiLM)):
            raise ValueError(
                f"module is of type {type(module).__name__}; expected a BiLM, such as elmokit.Elmo(...).bilm; "
                "modules that return activations and a mask, as in AllenNLP, are not run"
            )
        if module is None:
            module = read_bilm(_checked_options(options_file, weight_file), weight_file).requires_grad_(requires_grad)
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
        word_inputs: indices (B,T) or (B,...,T) in `vocab_to_cache`, 0 at padding. If one is too big, `inputs` is used.
        Raises ValueError if `inputs` is None but needed.
        """
        if inputs is None and word_inputs is None:
            raise ValueError("neither character ids nor word_inputs were given; expected one of them")
        shape = cast("Tensor", inputs).shape[:-1] if word_inputs is None else word_inputs.shape
        rows = shape[:-1].numel()  # -1 is ambiguous without tokens
        words = None if word_inputs is None else word_inputs.reshape(rows, shape[-1])
        characters = None if inputs is None else inputs.reshape(rows, *inputs.shape[-2:])
        output = self._elmo_lstm(characters, words)
        layers, mask = output["activations"], output["mask"]
        mixes = [self.get_submodule(f"scalar_mix_{number}")(layers, mask) for number in range(self._num_mixes)]
        if not self._keep_sentence_boundaries:
            mask = mask[:, 2:].contiguous()  # without two positions, for the boundaries
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
        self.output_dim: Final = projection_dim or self._elmo.get_output_dim()
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


class ElmoEmbedder:
    """Token lists -> the layers (L,T,2D) of each sentence, as NumPy arrays.

    options_file, weight_file: as in `elmokit.integrations.allennlp.Elmo`; without both, the model is `original`.
    cuda_device: number of the GPU; -1 for the CPU.
    stateful: whether the LSTM state is carried from batch to batch, row by row, as AllenNLP always does. The vectors
        then depend on the sentences embedded before, and it is slower.
    """

    def __init__(
        self,
        options_file: str | Path | None = None,
        weight_file: str | Path | None = None,
        cuda_device: int = -1,
        *,
        stateful: bool = False,
    ) -> None:
        self.cuda_device = cuda_device
        device = "cpu" if cuda_device < 0 else f"cuda:{cuda_device}"
        if options_file is None and weight_file is None:
            options_file, weight_file = DEFAULT_OPTIONS_FILE, DEFAULT_WEIGHT_FILE
        self._elmo = EncodingElmo(_checked_options(options_file, weight_file), weights=weight_file, device=device)
        self._reader = AllenNLPBiLM(self._elmo.bilm, stateful=True) if stateful else None

    def reset_states(self) -> None:
        """Start the next batch from zeros; an embedder that is not stateful always does."""
        if self._reader is not None:
            self._reader.reset_states()

    def embed_sentence(self, sentence: Sequence[str]) -> Float[np.ndarray, "L T E"]:
        """The layers of one sentence. Raises ValueError for a string, which is not a list of tokens."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Float[np.ndarray, "L T E"]]:
        """The layers of each sentence. A sentence without tokens has an array (L,0,2D).

        Raises ValueError for a sentence that is a string.
        """
        sentences = batch if isinstance(batch, str) else list(batch)
        check_sentences(sentences)
        if self._reader is None or not any(map(len, sentences)):  # without tokens, the state stays as it is
            return self._elmo.encode([list(sentence) for sentence in sentences], layers="all")
        width = self._elmo.config.max_characters_per_token
        ids = torch.from_numpy(batch_character_ids(sentences, max_characters_per_token=width)).to(self._elmo.device)
        with torch.no_grad():
            layers = torch.stack(self._reader(ids)["activations"]).cpu().numpy()
        return [layers[:, row, 1 : 1 + len(sentence)].copy() for row, sentence in enumerate(sentences)]

    def batch_to_embeddings(
        self, batch: Sequence[Sequence[str]]
    ) -> tuple[Float[Tensor, "B L T E"], Bool[Tensor, "B T"]]:
        """The layers of a batch in one tensor (B,L,T,2D), zero at padding, and its mask (B,T)."""
        arrays = self.embed_batch(batch)
        lengths = [array.shape[1] for array in arrays]
        longest = max(lengths, default=0)
        layers = torch.zeros(len(arrays), self._elmo.num_layers, longest, self._elmo.dim)
        for row, array in enumerate(arrays):
            layers[row, :, : lengths[row]] = torch.from_numpy(array)
        mask = torch.arange(longest) < torch.tensor(lengths, dtype=torch.long)[:, None]
        return layers.to(self._elmo.device), mask.to(self._elmo.device)

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[Float[np.ndarray, "L T E"]]:
        """The layers of each sentence, in order; `batch_size` sentences are read at a time."""
        for batch in batched(sentences, size=batch_size):
            yield from self.embed_batch(batch)

    def embed_file(
        self,
        input_file: str | Path | Iterable[str],
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        forget_sentences: bool = False,
        use_sentence_keys: bool = False,
    ) -> None:
        """Write the vectors of each line as a dataset of an HDF5 file. White space separates the tokens of a line.

        input_file: an open file, its path, or other lines.
        output_format: "all" layers (L,T,2D), the "top" one, or their "average" (T,2D).
        forget_sentences: leave out the dataset `sentence_to_index` (the number of each sentence, as JSON).
        use_sentence_keys: name the datasets by sentences, not by numbers, and leave out `sentence_to_index`.

        Raises ValueError for a blank line, for an unknown format, and for two equal sentences that are keys.
        """
        if output_format not in ("all", "top", "average"):
            raise ValueError(f"output_format is {output_format!r}; expected 'all', 'top' or 'average'")
        lines = read_lines(input_file) if isinstance(input_file, str | Path) else input_file
        sentences = [line.strip() for line in lines]
        if "" in sentences:
            raise ValueError(f"line {sentences.index('') + 1} is blank; each line has to be a sentence")
        if use_sentence_keys and len(set(sentences)) < len(sentences):
            raise ValueError("some sentences occur twice, so they cannot be keys; leave out use_sentence_keys")
        arrays = self.embed_sentences((sentence.split() for sentence in sentences), batch_size)
        if output_format == "top":
            arrays = (layers[-1] for layers in arrays)
        elif output_format == "average":
            arrays = (layers.mean(axis=0) for layers in arrays)
        keys = sentences if use_sentence_keys else [str(number) for number in range(len(sentences))]
        index = json.dumps(dict(zip(sentences, keys, strict=True)))
        datasets = zip(keys, counted(arrays, progress_bar(unit="sentence", total=len(keys))), strict=True)
        last = [] if forget_sentences or use_sentence_keys else [("sentence_to_index", [index])]
        write_datasets(Path(output_file_path), chain(datasets, last), in_order=True)


def _checked_options(options_file: str | Path | None, weight_file: str | Path | None) -> str | Path:
    """The options. Raises ValueError without files, and for addresses that do not belong to a published model."""
    if options_file is None:
        raise ValueError(
            "no options_file was given; pass the name of a model, such as 'original' (downloaded on first use), or the "
            "paths of options and weights"
        )
    for file in (options_file, weight_file):
        if "://" in str(file) and find_published(str(options_file)) is None:
            raise ValueError(f"{file} is a URL, which elmokit does not download; download it, and pass the path")
    return options_file


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

    def forward(self, tensors: Sequence[Float[Tensor, "*B E"]], mask: Bool[Tensor, "*B"] | None = None) -> Tensor:
        if len(tensors) != len(self.scalar_parameters):
            raise ValueError(f"got {len(tensors)} tensors; this mix has weights for {len(self.scalar_parameters)}")
        if self.do_layer_norm:
            if mask is None:
                raise ValueError("do_layer_norm is true, but no mask was given; pass the mask of the real positions")
            tensors = [_normalised(tensor, mask) for tensor in tensors]
        weights = torch.cat(list(self.scalar_parameters)).softmax(dim=0).chunk(len(tensors))
        return self.gamma * sum(weight * tensor for weight, tensor in zip(weights, tensors, strict=True))


def _normalised(layer: Float[Tensor, "*B E"], mask: Bool[Tensor, "*B"]) -> Float[Tensor, "*B E"]:
    """A layer of mean 0 and variance 1 over all real positions, boundaries included; padding gets other values."""
    wide = layer.to(torch.promote_types(layer.dtype, torch.float32))  # a sum in float16 cannot exceed 65,504
    real = mask.unsqueeze(-1).to(wide.dtype)
    count = mask.sum() * wide.shape[-1]
    mean = (wide * real).sum() / count
    variance = ((wide - mean) * real).square().sum() / count
    return ((wide - mean) / torch.sqrt(variance + 1e-12)).to(layer.dtype)
