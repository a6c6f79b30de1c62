"""AllenNLP's `ElmoEmbedder` (0.4 to 0.9, `allennlp/commands/elmo.py`): token lists -> NumPy arrays of all layers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from elmokit.elmo.elmo import Elmo
from elmokit.files.hdf5 import write_datasets
from elmokit.formats.published import find_published
from elmokit.integrations.allennlp_bilm import AllenNLPBiLM
from elmokit.system.batches import batched
from elmokit.system.progress_bar import counted, progress_bar
from elmokit.text.characters import batch_character_ids, check_sentences

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

DEFAULT_BATCH_SIZE = 64
_ORIGINAL = (
    "https://s3-us-west-2.amazonaws.com/allennlp/models/elmo/2x4096_512_2048cnn_2xhighway/"
    "elmo_2x4096_512_2048cnn_2xhighway_"
)
DEFAULT_OPTIONS_FILE = f"{_ORIGINAL}options.json"
DEFAULT_WEIGHT_FILE = f"{_ORIGINAL}weights.hdf5"
"""AllenNLP's addresses of the model `original`."""


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
        self._elmo = Elmo(checked_options(options_file, weight_file), weights=weight_file, device=device)
        self._reader = AllenNLPBiLM(self._elmo.bilm, stateful=True) if stateful else None

    def reset_states(self) -> None:
        """Start the next batch from zeros; an embedder that is not stateful always does."""
        if self._reader is not None:
            self._reader.reset_states()

    def embed_sentence(self, sentence: Sequence[str]) -> Float[np.ndarray, "L T E"]:
        """The layers of one sentence. Raises ValueError for a string, which is not a list of tokens."""
        return self.embed_batch([sentence])[0]

    def embed_batch(self, batch: Sequence[Sequence[str]]) -> list[Float[np.ndarray, "L T E"]]:
        """The layers of each sentence; one without tokens has an array (L,0,2D).

        Raises ValueError for a sentence that is a string.
        """
        sentences = batch if isinstance(batch, str) else list(batch)
        check_sentences(sentences)
        if self._reader is None:
            return self._elmo.encode([list(sentence) for sentence in sentences], layers="all")
        width = self._elmo.config.max_characters_per_token
        ids = torch.from_numpy(batch_character_ids(sentences, max_characters_per_token=width)).to(self._elmo.device)
        with torch.no_grad():
            layers = self._reader(ids)[0].cpu().numpy()
        return [layers[:, row, 1 : 1 + len(sentence)] for row, sentence in enumerate(sentences)]

    def batch_to_embeddings(
        self, batch: Sequence[Sequence[str]]
    ) -> tuple[Float[Tensor, "B L T E"], Bool[Tensor, "B T"]]:
        """The layers of a batch in one tensor (B,L,T,2D), zero at padding, and its mask (B,T)."""
        arrays = [torch.from_numpy(array).transpose(0, 1) for array in self.embed_batch(batch)]
        layers = pad_sequence(arrays, batch_first=True).transpose(1, 2)
        lengths = torch.tensor([len(array) for array in arrays])
        mask = torch.arange(layers.shape[2]) < lengths[:, None]
        return layers.to(self._elmo.device), mask.to(self._elmo.device)

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], batch_size: int = DEFAULT_BATCH_SIZE
    ) -> Iterator[Float[np.ndarray, "L T E"]]:
        """The layers of each sentence, in order; `batch_size` sentences are read at a time."""
        for batch in batched(sentences, size=batch_size):
            yield from self.embed_batch(batch)

    def embed_file(
        self,
        input_file: Iterable[str],
        output_file_path: str | Path,
        output_format: str = "all",
        batch_size: int = DEFAULT_BATCH_SIZE,
        forget_sentences: bool = False,
    ) -> None:
        """Write the vectors of each line, whose tokens are separated by white space, as a dataset of an HDF5 file.

        input_file: an open file or other lines.
        output_format: "all" layers (L,T,2D), the "top" one, or their "average" (T,2D).
        forget_sentences: leave out the dataset `sentence_to_index`, which has the number of each sentence as JSON.

        Raises ValueError for a blank line and for an unknown format.
        """
        if output_format not in ("all", "top", "average"):
            raise ValueError(f"output_format is {output_format!r}; expected 'all', 'top' or 'average'")
        sentences = [line.strip() for line in input_file]
        if "" in sentences:
            raise ValueError(f"line {sentences.index('') + 1} is blank; each line has to be a sentence")
        arrays = self.embed_sentences((sentence.split() for sentence in sentences), batch_size)
        if output_format == "top":
            arrays = (layers[-1] for layers in arrays)
        elif output_format == "average":
            arrays = (layers.mean(axis=0) for layers in arrays)
        keys = [str(number) for number in range(len(sentences))]
        index = json.dumps(dict(zip(sentences, keys, strict=True)))
        datasets = zip(keys, counted(arrays, progress_bar(unit="sentence", total=len(keys))), strict=True)
        last = [] if forget_sentences else [("sentence_to_index", [index])]
        write_datasets(Path(output_file_path), chain(datasets, last), in_order=True)


def checked_options(options_file: str | Path | None, weight_file: str | Path | None) -> str | Path:
    """The options. Raises ValueError without files, and for addresses that do not belong to a published model."""
    if options_file is None:
        raise ValueError(
            "no options_file was given; pass the name of a model, such as 'original', which is downloaded at its first "
            "use, or the paths of options and weights"
        )
    for file in (options_file, weight_file):
        if "://" in str(file) and find_published(str(options_file)) is None:
            raise ValueError(f"{file} is a URL, which elmokit does not download; download it, and pass the path")
    return options_file
