"""Attentional sequence-to-sequence translator, whose encoder gives the vectors of CoVe (McCann et al., 2017).

The encoder is a plain two-layer biLSTM over fixed word vectors; the decoder is an LSTM of two layers that reads the
target word before and its own last attentional state, with global attention over the encoder's top layer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from elmokit.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from jaxtyping import Float, Int


MAX_NGRAM = 4


def new_encoder(*, input_dim: int, hidden_dim: int, dropout_rate: float = 0.0) -> nn.LSTM:
    """The encoder: word vectors (B,T,D) -> (B,T,2H); its tensors have the names and shapes of the published file."""
    return nn.LSTM(input_dim, hidden_dim, 2, batch_first=True, bidirectional=True, dropout=dropout_rate)


class Translator(nn.Module):
    """Source word vectors and target token ids -> logits of the next target token.

    The batch has sentences of one length on the source side, so nothing is padded there.
    """

    def __init__(self, encoder: nn.LSTM, vocabulary: Vocabulary, *, target_dim: int, dropout_rate: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.begin_id, self.end_id = vocabulary.begin_id, vocabulary.end_id
        dim = 2 * encoder.hidden_size
        self.embedding = nn.Embedding(len(vocabulary), target_dim)
        self.decoder = nn.LSTM(target_dim + dim, dim, 2, batch_first=True, dropout=dropout_rate)
        self.query = nn.Linear(dim, dim)
        self.combine = nn.Linear(2 * dim, dim)
        self.dropout = nn.Dropout(dropout_rate)
        self.output = nn.Linear(dim, len(vocabulary))

    def forward(self, source: Float[Tensor, "B T D"], target: Int[Tensor, "B U"]) -> Float[Tensor, "B U V"]:
        """Logits of the token after each of `target`, which starts with the begin of the sentence."""
        memory, state = self._start(self.dropout(source))
        embedded = self.dropout(self.embedding(target)).unbind(1)
        steps: list[Tensor] = []
        for token in embedded:
            state = self._step(token, memory, state)
            steps.append(state[0])
        return self.output(self.dropout(torch.stack(steps, dim=1)))

    @torch.no_grad()
    def translate(self, source: Float[Tensor, "B T D"], *, max_tokens: int) -> list[list[int]]:
        """The most probable token at each step, until the end of the sentence or `max_tokens`."""
        memory, state = self._start(source)
        token = torch.full((len(source),), self.begin_id)
        done = torch.zeros(len(source), dtype=torch.bool)
        translations: list[list[int]] = [[] for _ in range(len(source))]
        for _ in range(max_tokens):
            state = self._step(self.embedding(token), memory, state)
            token = self.output(state[0]).argmax(dim=1)
            done |= token == self.end_id
            if done.all():
                break
            for number in (~done).nonzero().flatten().tolist():
                translations[number].append(int(token[number]))
        return translations

    def _start(self, source: Float[Tensor, "B T D"]) -> tuple[Float[Tensor, "B T H"], tuple[Tensor, ...]]:
        """The encoder's output, and the decoder's state: attentional state, then hidden states and cells of its layers.

        Each layer starts from the last states of both directions of the encoder's layer.
        """
        memory, of_encoder = self.encoder(source)
        hidden, cell = (torch.cat([states[0::2], states[1::2]], dim=2) for states in of_encoder)
        return memory, (torch.zeros_like(hidden[0]), hidden, cell)

    def _step(
        self, token: Float[Tensor, "B E"], memory: Float[Tensor, "B T H"], state: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        last, *of_layers = state
        output, (hidden, cell) = self.decoder(torch.cat([token, last], dim=1)[:, None], of_layers)
        weights = torch.softmax(torch.einsum("bth,bh->bt", memory, self.query(output[:, 0])), dim=1)
        context = torch.einsum("bt,bth->bh", weights, memory)
        return torch.tanh(self.combine(torch.cat([context, output[:, 0]], dim=1))), hidden, cell


def bleu(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> float:
    """BLEU in percent of a corpus with one reference each (Papineni et al., 2002): up to four tokens, no smoothing.

    As in multi-bleu.perl: precisions are pooled over the corpus, the brevity penalty is that of the whole corpus, case
    counts. 0 if there is no match of some length.
    """
    matches, totals = [0] * MAX_NGRAM, [0] * MAX_NGRAM
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for index in range(MAX_NGRAM):
            ours, theirs = _ngrams(hypothesis, index + 1), _ngrams(reference, index + 1)
            matches[index] += (ours & theirs).total()  # each at most as often as in the reference
            totals[index] += ours.total()
    if 0 in matches:
        return 0.0
    shortfall = min(0.0, 1 - sum(map(len, references)) / sum(map(len, hypotheses)))
    precisions = (math.log(match / total) for match, total in zip(matches, totals, strict=True))
    return 100 * math.exp(shortfall + sum(precisions) / MAX_NGRAM)


def _ngrams(tokens: Sequence[str], length: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))
