"""CoVe: the layers of a translator's biLSTM encoder over fixed word vectors (McCann et al., 2017), read and trained.

The tensors have the names and shapes of a plain two-layer `torch.nn.LSTM`, as in the published file. There are no
boundary tokens, and no state is carried from one sentence to the next. In training, an attentional decoder follows: an
LSTM of two layers with global attention over the encoder's top layer. At each step, it reads the previous target word
and its own previous attentional state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from elmokit.files.atomic import check_new_folder, new_folder
from elmokit.files.lines import read_lines
from elmokit.files.torch_files import looks_like_torch_file, read_torch_file
from elmokit.integrations.encoder import Comparator, SystemLayers
from elmokit.layers.devices import seeded
from elmokit.runs.settings import change_settings
from elmokit.runs.tensor_files import check_tensors, read_tensors, write_tensors
from elmokit.system.messages import FormatError
from elmokit.text.characters import BEGIN_SENTENCE, END_SENTENCE
from elmokit.text.tokenizer import tokenize
from elmokit.text.vocabulary import SPECIALS, Vocabulary
from elmokit.vectors.file_vector_source import WordVectorSource
from paper.comparators.training import (
    check_config,
    frequent_words,
    of_equal_length,
    shuffled_groups,
    train_epochs,
    write_training,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int

ENCODER_FILE = "encoder.safetensors"
_IGNORED = -100  # tells cross_entropy that a position has no target
SENTENCES_PER_BATCH = 64


def read_encoder(path: Path) -> nn.LSTM:
    """Read an encoder: the published `.pth`, safetensors, or a folder of `train_cove`. The tensors give the sizes.

    Nothing is unpickled. Raises FileNotFoundError, and FormatError for missing, additional or misshapen tensors and
    numbers that are not finite.
    """
    path = path / ENCODER_FILE if path.is_dir() else path
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file; expected CoVe's encoder")
    if looks_like_torch_file(path):
        file = read_torch_file(path)
        tensors = {name: torch.from_numpy(file.read(name)) for name in file.entries}
    else:
        tensors = read_tensors(path)
    name = "weight_ih_l0"
    if name not in tensors or tensors[name].ndim != 2 or len(tensors[name]) % 4 or 0 in tensors[name].shape:
        raise FormatError(path, f"has no {name} of shape (4H, D); expected the tensors of CoVe's encoder")
    hidden_dim, input_dim = len(tensors[name]) // 4, tensors[name].shape[1]
    with torch.device("meta"):
        encoder = new_encoder(input_dim=input_dim, hidden_dim=hidden_dim)
    check_tensors(path, tensors, encoder.state_dict())
    encoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, assign=True)
    return encoder.eval().requires_grad_(False)


def new_encoder(*, input_dim: int, hidden_dim: int, dropout_rate: float = 0.0) -> nn.LSTM:
    """The encoder: word vectors (B,T,D) -> (B,T,2H)."""
    return nn.LSTM(input_dim, hidden_dim, 2, batch_first=True, bidirectional=True, dropout=dropout_rate)


def open_cove(model: str, word_vectors: Path | None = None) -> SystemLayers:
    """Open layers 1 and 2 of the encoder, each 2H wide. For a word without a vector, the encoder reads zeros."""
    if word_vectors is None:
        raise ValueError("cove reads word vectors: give their file with --word-vectors FILE")
    path = Path(model)
    encoder, words = read_encoder(path), WordVectorSource(word_vectors)
    if encoder.input_size != words.dim:
        raise ValueError(
            f"{model} reads vectors of {encoder.input_size} numbers, but {word_vectors} has vectors of {words.dim}; "
            "give the word vectors that it was trained with"
        )
    first = nn.LSTM(encoder.input_size, encoder.hidden_size, batch_first=True, bidirectional=True)
    of_first = {name: tensor for name, tensor in encoder.state_dict().items() if "_l0" in name}
    first.load_state_dict(of_first, assign=True)
    dim = 2 * encoder.hidden_size

    @torch.no_grad()
    def layers(sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        words.add(sentences)
        arrays = [np.zeros((2, len(sentence), dim), np.float32) for sentence in sentences]
        for numbers in of_equal_length(sentences, most=SENTENCES_PER_BATCH):
            batch = words([sentences[number] for number in numbers])[0]
            both = torch.stack([first(batch)[0], encoder(batch)[0]], dim=1)
            for number, array in zip(numbers, both.numpy(), strict=True):
                arrays[number] = array
        return arrays

    files = [path / ENCODER_FILE if path.is_dir() else path, word_vectors]
    return SystemLayers(layers, num_layers=2, dim=dim, files=files, settings="cove", prepare=words.add)


COVE = Comparator(
    name="cove",
    opens="CoVe's encoder (.pth or safetensors) or a folder of `python -m paper train-comparator cove`",
    open=open_cove,
)


@dataclass(frozen=True)
class CoveConfig:
    """Settings of a training. The widths are as published; the rest is ours, and has not been tuned."""

    word_vectors: str = ""
    """File of GloVe, word2vec or fastText vectors: the encoder's input. They are not trained."""
    hidden_dim: int = 300
    """Width of each direction of the encoder; the decoder is twice as wide."""
    target_dim: int = 300
    """Width of the target words' embeddings."""
    min_count: int = 2
    """Occurrences that a target word needs; rarer ones are unknown words."""
    max_size: int = 50_000
    """Largest number of target words, the most frequent ones."""
    max_tokens: int = 50
    """Pairs with more tokens on either side, or with none, are left out of the training."""
    batch_size: int = 64
    """Pairs per step, of one source length."""
    epochs: int = 10
    """Passes over the pairs."""
    learning_rate: float = 0.001
    """Adam's."""
    dropout_rate: float = 0.2
    """Rate of the dropout at all inputs and between layers."""
    seed: int = 0
    """Seed of initial weights, order and dropout."""

    def __post_init__(self) -> None:
        check_config(self)


class Translator(nn.Module):
    """Source word vectors and target token ids -> logits of the next target token.

    All source sentences of a batch have the same length, so the source needs no padding.
    """

    def __init__(self, encoder: nn.LSTM, vocabulary: Vocabulary, *, target_dim: int, dropout_rate: float) -> None:
        super().__init__()
        self.encoder = encoder
        dim = 2 * encoder.hidden_size
        self.embedding = nn.Embedding(len(vocabulary), target_dim)
        self.decoder = nn.LSTM(target_dim + dim, dim, 2, batch_first=True, dropout=dropout_rate)
        self.query = nn.Linear(dim, dim)
        self.combine = nn.Linear(2 * dim, dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output = nn.Linear(dim, len(vocabulary))

    def forward(self, source: Float[Tensor, "B T D"], target: Int[Tensor, "B U"]) -> Float[Tensor, "B U V"]:
        """Logits of the token after each token of `target`; `target` starts with the begin-of-sentence token."""
        memory, of_encoder = self.encoder(self.dropout(source))
        # each decoder layer starts from the last states of both directions of the same encoder layer
        hidden, cell = (torch.cat([states[0::2], states[1::2]], dim=2) for states in of_encoder)
        state = torch.zeros_like(hidden[0])  # attentional: the result of the previous step
        steps: list[Tensor] = []
        for token in self.dropout(self.embedding(target)).unbind(1):
            output, (hidden, cell) = self.decoder(torch.cat([token, state], dim=1)[:, None], (hidden, cell))
            weights = torch.softmax(torch.einsum("bth,bh->bt", memory, self.query(output[:, 0])), dim=1)
            context = torch.einsum("bt,bth->bh", weights, memory)
            state = torch.tanh(self.combine(torch.cat([context, output[:, 0]], dim=1)))
            steps.append(state)
        return self.output(self.dropout(torch.stack(steps, dim=1)))


def train_cove(files: Sequence[Path], output: Path, settings: Sequence[str] = ()) -> float:
    """Train a translator and write the folder of its encoder: `encoder.safetensors` and config.json.

    files: the source text and the target text, one sentence per line. Each line is tokenised.
    settings: fields of `CoveConfig` as `field=value`; `word_vectors` must be among them.
    Returns the last epoch's loss (nats per target token). Raises ValueError for wrong settings and texts of different
    lengths, OSError for files that cannot be read or written, and DivergenceError, a ValueError.
    """
    config = change_settings({"training": CoveConfig()}, settings)["training"]
    if not config.word_vectors:
        raise ValueError("the encoder reads word vectors: give their file with --set word_vectors=FILE")
    if len(files) != 2:
        raise ValueError(f"{len(files)} files were given; expected SOURCE TARGET")
    check_new_folder(output)
    sources, targets = _read_pairs(*files, max_tokens=config.max_tokens)
    words = WordVectorSource(config.word_vectors)
    words.add(sources)
    counts = Counter(token for target in targets for token in target)
    vocabulary = Vocabulary([*SPECIALS, *sorted(frequent_words(counts, config))])
    with new_folder(output) as folder, seeded(config.seed):
        model = Translator(
            new_encoder(input_dim=words.dim, hidden_dim=config.hidden_dim, dropout_rate=config.dropout_rate),
            vocabulary,
            target_dim=config.target_dim,
            dropout_rate=config.dropout_rate,
        )

        def loss_of(numbers: Sequence[int]) -> tuple[Float[Tensor, ""], int]:
            """The loss of sentences with sources of one length, and their number of target tokens."""
            marked = ([BEGIN_SENTENCE, *targets[number], END_SENTENCE] for number in numbers)
            rows = [torch.from_numpy(vocabulary.ids(target)) for target in marked]
            target = pad_sequence(rows, batch_first=True, padding_value=_IGNORED)
            logits = model(words([sources[number] for number in numbers])[0], target[:, :-1].clamp(min=0))
            wanted = target[:, 1:].flatten()
            loss = functional.cross_entropy(logits.flatten(0, 1), wanted, ignore_index=_IGNORED)
            return loss, int((wanted != _IGNORED).sum())

        batches = partial(shuffled_groups, sources, most=config.batch_size)
        losses = train_epochs(model, config, batches, loss_of)
        write_tensors(folder / ENCODER_FILE, model.encoder.state_dict())
        write_training(folder, "cove", config, files=files, losses=losses)
    return losses[-1]


def _read_pairs(source: Path, target: Path, *, max_tokens: int) -> Sequence[Sequence[list[str]]]:
    """The sentences of both texts, without the pairs that are too long or have an empty side."""
    texts = [[tokenize(line) for line in read_lines(path)] for path in (source, target)]
    if len(texts[0]) != len(texts[1]) or not texts[0]:
        raise ValueError(
            f"{source} has {len(texts[0]):,} lines and {target} {len(texts[1]):,}; expected a translation of each line"
        )
    pairs = [pair for pair in zip(*texts, strict=True) if all(0 < len(text) <= max_tokens for text in pair)]
    if not pairs:
        raise ValueError(f"no pair has 1 to {max_tokens} tokens on both sides (max_tokens)")
    return list(zip(*pairs, strict=True))
