"""Classifier of sentence pairs: ESIM, the enhanced sequential inference model (Chen et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn

from elmokit.layers.masks import masked_max, masked_mean
from elmokit.layers.tasks.attention import soft_align
from elmokit.layers.tasks.recurrent import BiLSTM, VariationalDropout
from elmokit.tasks.task_model import Classifier, glorot

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from elmokit.tasks.entailment.task import EntailmentConfig, SentencePair
    from elmokit.tasks.inputs import TokenInputs


class EntailmentClassifier(Classifier):
    """Pairs of sentences -> labels. Both sentences of a pair go through the same layers."""

    def __init__(self, config: EntailmentConfig, inputs: TokenInputs, labels: Sequence[str]) -> None:
        super().__init__(inputs, labels)
        self.lstm_dropout: Final = VariationalDropout(rate=config.lstm_dropout_rate)
        self.attention_dropout: Final = nn.Dropout(config.attention_dropout_rate)
        self.output_dropout: Final = nn.Dropout(config.output_dropout_rate)

        self.encoder: Final = BiLSTM(input_dim=inputs.input_dim, hidden_dim=config.encoder_dim)
        aligned_dim = 4 * (2 * config.encoder_dim + inputs.output_dim)
        self.projection: Final = nn.Linear(aligned_dim, config.projection_dim)
        self.inference: Final = BiLSTM(input_dim=config.projection_dim, hidden_dim=config.inference_dim)
        self.hidden: Final = nn.Linear(4 * 2 * config.inference_dim, config.hidden_dim)
        self.score: Final = nn.Linear(config.hidden_dim, len(labels))
        for layer in (self.projection, self.hidden, self.score):
            glorot(layer)  # as in AllenNLP's esim

    def scores(self, examples: Sequence[SentencePair]) -> Float[Tensor, "B K"]:
        """Scores of the labels. All layers but the alignment see premises, then hypotheses, as one batch (2B)."""
        vectors = self.inputs([*(pair.premise for pair in examples), *(pair.hypothesis for pair in examples)])
        encoded = self.encoder(self.lstm_dropout(vectors.inputs), vectors.mask)
        aligned = _aligned(torch.cat([encoded, vectors.outputs], dim=2), vectors.mask)
        projected = self.projection(self.attention_dropout(aligned)).relu()
        inferred = self.inference(self.lstm_dropout(projected), vectors.mask)
        pools = torch.cat([masked_mean(inferred, vectors.mask), masked_max(inferred, vectors.mask)], dim=1)
        pair = torch.cat(pools.chunk(2), dim=1)
        hidden = self.hidden(self.output_dropout(pair)).relu()
        return self.score(self.output_dropout(hidden))


def _aligned(encoded: Float[Tensor, "N T D"], mask: Bool[Tensor, "N T"]) -> Float[Tensor, "N T 4*D"]:
    """`[a; a~; a - a~; a * a~]`, where a~ is the mean of the other sentence's vectors, weighted by attention from a."""
    premise, hypothesis = encoded.chunk(2)
    premise_mask, hypothesis_mask = mask.chunk(2)
    aligned = torch.cat(soft_align(premise, hypothesis, premise_mask=premise_mask, hypothesis_mask=hypothesis_mask))
    return torch.cat([encoded, aligned, encoded - aligned, encoded * aligned], dim=2)
