"""context2vec: vectors of a word's context without the word (Melamud et al., 2016), read and used.

One LSTM reads the words to the left, another one those to the right; a network of two layers joins their outputs. A
context's vector is close to the target vectors of the words that fit into the gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from elmokit.integrations.encoder import Comparator, SystemLayers, of_equal_length
from elmokit.runs.folder import CONFIG_NAME
from elmokit.runs.optimizer_state import check_tensors
from elmokit.runs.tensor_files import read_tensors
from elmokit.text.vocabulary import Vocabulary
from paper.comparators.run_folder import read_comparator_settings

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int

SYSTEM = "context2vec"
MODEL_FILE = "model.safetensors"
VOCABULARY_FILE = "vocabulary.txt"
SENTENCES_PER_BATCH = 64
GAP = "[]"
"""The token that stands for the gap in a sentence, as in the original program."""
MAX_DIM = 1 << 16


class ContextEncoder(nn.Module):
    """Token ids -> the vector of each position's context; and the target vectors of the words."""

    def __init__(self, vocabulary: Vocabulary, *, word_dim: int, lstm_dim: int, dim: int) -> None:
        super().__init__()
        num_tokens, self.begin_id, self.end_id = len(vocabulary), vocabulary.begin_id, vocabulary.end_id
        self.left_words = nn.Embedding(num_tokens, word_dim)
        self.right_words = nn.Embedding(num_tokens, word_dim)
        self.left_lstm = nn.LSTM(word_dim, lstm_dim, batch_first=True)
        self.right_lstm = nn.LSTM(word_dim, lstm_dim, batch_first=True)
        self.hidden = nn.Linear(2 * lstm_dim, 2 * lstm_dim)
        self.output = nn.Linear(2 * lstm_dim, dim)
        self.targets = nn.Embedding(num_tokens, dim)
        for words in (self.left_words, self.right_words):  # as the original program starts: rare words stay small
            nn.init.normal_(words.weight, std=num_tokens**-0.5)
        nn.init.zeros_(self.targets.weight)

    def forward(self, ids: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        """Context vectors of sentences of one length; the word itself is read by neither side."""
        begin, end = ids.new_full((len(ids), 1), self.begin_id), ids.new_full((len(ids), 1), self.end_id)
        left = self.left_lstm(self.left_words(torch.cat([begin, ids[:, :-1]], dim=1)))[0]
        from_the_end = torch.cat([end, ids[:, 1:].flip(1)], dim=1)
        right = self.right_lstm(self.right_words(from_the_end))[0].flip(1)
        return self.output(torch.relu(self.hidden(torch.cat([left, right], dim=2))))


@dataclass(frozen=True)
class Context2vec:
    """A trained model; words are lower-cased."""

    encoder: ContextEncoder
    vocabulary: Vocabulary

    @torch.no_grad()
    def contexts(self, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "T D"]]:
        """The vector of the context of each token, for each sentence."""
        arrays = [np.zeros((len(sentence), self.encoder.targets.embedding_dim), np.float32) for sentence in sentences]
        for numbers in of_equal_length(sentences, most=SENTENCES_PER_BATCH):
            ids = torch.from_numpy(np.stack([self.ids(sentences[number]) for number in numbers]))
            for number, array in zip(numbers, self.encoder(ids).numpy(), strict=True):
                arrays[number] = array
        return arrays

    @torch.no_grad()
    def layers(self, sentences: Sequence[Sequence[str]]) -> list[Float32[np.ndarray, "L T E"]]:
        """For each sentence, the tokens' own target vectors, and the vectors of their contexts."""
        contexts = self.contexts(sentences)
        targets = [self.encoder.targets(torch.from_numpy(self.ids(sentence))).numpy() for sentence in sentences]
        return [np.stack(pair) for pair in zip(targets, contexts, strict=True)]

    @torch.no_grad()
    def substitutes(
        self, sentence: Sequence[str], *, known: str | None = None, number: int = 10
    ) -> list[tuple[str, float]]:
        """The words that fit best into the gap `[]` of a sentence, with their scores, best first.

        The score of a word w in a context c is `(cos(w, c) + 1) / 2`. If the word that the substitutes should mean the
        same as is `known`, it is `max(cos(w, known), 0) * max(cos(w, c), 0)`.
        Raises ValueError unless there is exactly one gap, `number` is at least 1, and `known` is in the vocabulary.
        """
        if number < 1:
            raise ValueError(f"number is {number}; expected at least 1")
        if known is not None and known.lower() not in self.vocabulary:
            raise ValueError(f"the model has no vector of {known!r}, which its training text had too rarely or never")
        targets = self.encoder.targets.weight
        gaps = [position for position, token in enumerate(sentence) if token == GAP]
        if len(gaps) != 1:
            raise ValueError(f"{' '.join(sentence)!r} has {len(gaps)} gaps; expected one token {GAP}")
        scores = torch.cosine_similarity(targets, torch.from_numpy(self.contexts([sentence])[0][gaps]))
        if known is None:
            scores = (scores + 1) / 2
        else:
            of_known = targets[torch.from_numpy(self.ids([known]))]
            scores = scores.clamp(min=0) * torch.cosine_similarity(targets, of_known).clamp(min=0)
        specials = [self.vocabulary.begin_id, self.vocabulary.end_id, self.vocabulary.unknown_id]
        scores[specials] = -1.0
        best = scores.topk(min(number, len(scores) - len(specials)))
        indices = cast("list[int]", best.indices.tolist())
        return [(self.vocabulary.tokens[index], float(scores[index])) for index in indices]

    def ids(self, sentence: Sequence[str]) -> Int[np.ndarray, " T"]:
        """Token ids of the lower-cased words."""
        return self.vocabulary.ids(token.lower() for token in sentence)


def read_context2vec(run_dir: Path) -> Context2vec:
    """Read the folder that `train_context2vec` wrote. Raises FileNotFoundError, and FormatError if it is damaged."""
    settings = read_comparator_settings(run_dir, SYSTEM)
    dims = {name: settings.integer(name, least=1, most=MAX_DIM) for name in ("word_dim", "lstm_dim", "dim")}
    vocabulary = Vocabulary.read(run_dir / VOCABULARY_FILE)
    path = run_dir / MODEL_FILE
    tensors = read_tensors(path).tensors
    with torch.device("meta"):
        encoder = ContextEncoder(vocabulary, **dims)
    check_tensors(path, tensors, encoder.state_dict())
    encoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()}, assign=True)
    return Context2vec(encoder.eval().requires_grad_(False), vocabulary)


def open_context2vec(model: str, word_vectors: Path | None = None) -> SystemLayers:
    """Layer 0: the word's own target vector, whatever its sentence. Layer 1: the vector of its context."""
    del word_vectors
    folder = Path(model)
    read = read_context2vec(folder)
    files = [folder / name for name in (CONFIG_NAME, VOCABULARY_FILE, MODEL_FILE)]
    dim = read.encoder.targets.embedding_dim
    return SystemLayers(read.layers, num_layers=2, dim=dim, files=files, settings=SYSTEM)


CONTEXT2VEC = Comparator(name=SYSTEM, opens="a folder of `train-comparator context2vec`", open=open_context2vec)
