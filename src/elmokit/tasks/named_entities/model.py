"""Tagger of named entities: two biLSTMs and a CRF over BIOUL tags (Lample et al., 2016; Peters et al., 2018, A.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from elmokit.layers.tasks.crf import CRF, bioul_transitions
from elmokit.layers.tasks.recurrent import BiLSTM, VariationalDropout
from elmokit.tasks.task_model import Labels, TaskModel

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from elmokit.tasks.inputs import TokenInputs
    from elmokit.tasks.named_entities.reader import TaggedSentence
    from elmokit.tasks.named_entities.recipes import NamedEntitiesConfig


class NamedEntityTagger(TaskModel):
    """Tokens -> BIOUL tags; `labels` are all possible tags, including `O`."""

    allowed: Tensor

    def __init__(self, config: NamedEntitiesConfig, inputs: TokenInputs, labels: Sequence[str]) -> None:
        super().__init__(inputs)
        self.labels = Labels(labels)
        self.input_dropout = VariationalDropout(rate=config.dropout_rate)
        self.output_dropout = VariationalDropout(rate=config.output_dropout_rate)
        self.first = BiLSTM(input_dim=inputs.input_dim, hidden_dim=config.first_dim)
        self.second = BiLSTM(input_dim=2 * config.first_dim + inputs.output_dim, hidden_dim=config.second_dim)
        self.dense = nn.Linear(2 * config.second_dim, len(labels))
        self.crf = CRF(num_labels=len(labels))
        self.register_buffer("allowed", bioul_transitions(self.labels.names), persistent=False)

    def forward(self, examples: Sequence[TaggedSentence]) -> Float[Tensor, ""]:
        """Negative log likelihood of the tags, summed over the batch (as in AllenNLP)."""
        scores, mask = self._scores(examples)
        gold = self.labels.ids_of_tags(examples).to(mask.device)
        return -self.crf.log_likelihood(scores, mask, labels=gold).sum()

    @torch.no_grad()
    def predict(self, examples: Sequence[TaggedSentence]) -> list[list[str]]:
        """The most probable sequence of legal tags for each sentence."""
        scores, mask = self._scores(examples)
        paths = self.crf.decode(scores, mask, allowed=self.allowed)
        return [[self.labels.names[index] for index in path] for path in paths]

    def _scores(self, examples: Sequence[TaggedSentence]) -> tuple[Float[Tensor, "B T K"], Bool[Tensor, "B T"]]:
        vectors = self.inputs([sentence.tokens for sentence in examples])
        hidden = self.first(self.input_dropout(vectors.inputs), vectors.mask)
        hidden = torch.cat([hidden, vectors.outputs], dim=2)
        hidden = self.second(self.input_dropout(hidden), vectors.mask)
        return self.dense(self.output_dropout(hidden)), vectors.mask
