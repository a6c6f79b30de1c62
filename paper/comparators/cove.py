"""CoVe: the layers of a translator's biLSTM encoder over fixed word vectors (McCann et al., 2017).

The tensors have the names and shapes of a plain two-layer `torch.nn.LSTM`, as in the published file. There are no
boundary tokens, and no state is carried from one sentence to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.files.torch_files import looks_like_torch_file, read_torch_file
from elmokit.integrations.encoder import Comparator, SystemLayers, of_equal_length
from elmokit.runs.optimizer_state import check_tensors
from elmokit.runs.tensor_files import read_tensors
from elmokit.system.messages import FormatError
from elmokit.vectors.file_vector_source import WordVectorSource
from paper.comparators.cove_training import ENCODER_FILE
from paper.comparators.translation import new_encoder

if TYPE_CHECKING:
    from jaxtyping import Float32

SENTENCES_PER_BATCH = 64


def read_encoder(path: Path) -> nn.LSTM:
    """Read an encoder: the published `.pth`, safetensors, or a folder of `train_cove`; its tensors say its sizes.

    Nothing is unpickled. Raises FileNotFoundError, and FormatError for missing, additional or misshapen tensors and
    numbers that are not finite.
    """
    path = path / ENCODER_FILE if path.is_dir() else path
    tensors = _tensors(path)
    name = "weight_ih_l0"
    if name not in tensors or tensors[name].ndim != 2 or len(tensors[name]) % 4 or 0 in tensors[name].shape:
        raise FormatError(path, f"has no {name} of shape (4H, D); expected the tensors of CoVe's encoder")
    hidden_dim, input_dim = len(tensors[name]) // 4, tensors[name].shape[1]
    with torch.device("meta"):
        encoder = new_encoder(input_dim=input_dim, hidden_dim=hidden_dim)
    check_tensors(path, tensors, encoder.state_dict())
    encoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, assign=True)
    return encoder.eval().requires_grad_(False)


def _tensors(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected CoVe's encoder")
    if not looks_like_torch_file(path):
        return read_tensors(path).tensors
    file = read_torch_file(path)
    return {name: torch.from_numpy(file.read(name)) for name in file.tensors}


class _CoveEncoder:
    """Sentences -> word vectors (T,D), and both layers of the encoder (2,T,2H)."""

    def __init__(self, encoder: nn.LSTM, words: WordVectorSource) -> None:
        self.encoder = encoder
        self.words = words
        self.first = nn.LSTM(encoder.input_size, encoder.hidden_size, batch_first=True, bidirectional=True)
        of_first = {name: tensor for name, tensor in encoder.state_dict().items() if "_l0" in name}
        self.first.load_state_dict(of_first, assign=True)
        self.dim = 2 * encoder.hidden_size

    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        self.words.add(sentences)
        arrays = [np.zeros((2, len(sentence), self.dim), np.float32) for sentence in sentences]
        for numbers in of_equal_length(sentences, most=SENTENCES_PER_BATCH):
            batch = self.words([sentences[number] for number in numbers])[0]
            with torch.no_grad():
                both = torch.stack([self.first(batch)[0], self.encoder(batch)[0]], dim=1)
            for number, array in zip(numbers, both.numpy(), strict=True):
                arrays[number] = array
        return arrays

    def with_words(self, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        """One layer: word vector and top layer side by side, as the paper uses them."""
        tops = [array[1] for array in self.layers(sentences)]
        words = [self.words([sentence])[0, 0].numpy() for sentence in sentences]
        return [np.concatenate(pair, axis=1)[None] for pair in zip(words, tops, strict=True)]


def open_cove(model: str, word_vectors: Path | None) -> SystemLayers:
    """Layers 1 and 2 of the encoder, each 2H wide; a word without a vector is a vector of zeros at its input."""
    encoder, files = _open(model, word_vectors)
    return SystemLayers(
        encoder.layers, num_layers=2, dim=encoder.dim, files=files, settings="cove", prepare=encoder.words.add
    )


def open_glove_cove(model: str, word_vectors: Path | None) -> SystemLayers:
    """One layer of D + 2H numbers, `[GloVe; CoVe]`: the word vector and the encoder's top layer."""
    encoder, files = _open(model, word_vectors)
    dim = encoder.words.dim + encoder.dim
    return SystemLayers(
        encoder.with_words, num_layers=1, dim=dim, files=files, settings="glove-cove", prepare=encoder.words.add
    )


def _open(model: str, word_vectors: Path | None) -> tuple[_CoveEncoder, list[Path]]:
    if word_vectors is None:
        raise ValueError("CoVe reads word vectors; expected the file of those that its encoder was trained with")
    path = Path(model)
    encoder, words = read_encoder(path), WordVectorSource(word_vectors)
    if encoder.input_size != words.dim:
        raise ValueError(
            f"{model} reads vectors of {encoder.input_size} numbers, but those of {word_vectors} have {words.dim}; "
            "give the word vectors that it was trained with"
        )
    return _CoveEncoder(encoder, words), [path / ENCODER_FILE if path.is_dir() else path, word_vectors]


_OPENS = "CoVe's encoder (.pth or safetensors) or a folder of `python -m paper train-comparator cove`"
COVE = Comparator(name="cove", opens=_OPENS, open=open_cove, reads_word_vectors=True)
GLOVE_COVE = Comparator(name="glove-cove", opens=_OPENS, open=open_glove_cove, reads_word_vectors=True)
