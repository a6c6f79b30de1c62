"""Parser of semantic roles: highway LSTMs that read forward and backward in turn (He et al., 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.layers.tasks.crf import bio_transitions, viterbi
from elmokit.layers.tasks.recurrent import AlternatingHighwayLSTM, VariationalDropout
from elmokit.tasks.task_model import TaskModel

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from elmokit.tasks.inputs import TokenInputs
    from elmokit.tasks.semantic_roles.task import PredicateInSentence, SemanticRolesConfig


class SemanticRoleParser(TaskModel):
    """Tokens and a predicate -> BIO tags; `labels` are all possible tags, including `O`."""

    allowed: Tensor

    def __init__(self, config: SemanticRolesConfig, inputs: TokenInputs, labels: Sequence[str]) -> None:
        super().__init__(inputs, labels)
        self.flags: Final = nn.Embedding(2, config.flag_dim)
        nn.init.normal_(self.flags.weight, std=0.01)  # as in He et al.'s code
        self.input_dropout: Final = VariationalDropout(rate=config.input_dropout_rate)
        self.output_dropout: Final = VariationalDropout(rate=config.output_dropout_rate)
        self.encoder: Final = AlternatingHighwayLSTM(
            input_dim=inputs.input_dim + config.flag_dim,
            hidden_dim=config.hidden_dim,
            num_layers=config.num_layers,
            recurrent_dropout_rate=config.recurrent_dropout_rate,
        )
        self.dense: Final = nn.Linear(config.hidden_dim + inputs.output_dim, len(labels))
        nn.init.normal_(self.dense.weight, std=0.01)  # as in He et al.'s code
        nn.init.zeros_(self.dense.bias)
        self.register_buffer("allowed", bio_transitions(self.labels), persistent=False)

    def forward(self, examples: Sequence[PredicateInSentence]) -> Float[Tensor, ""]:
        """Negative log likelihood of the tags, summed over tokens and averaged over the batch (as in He et al.)."""
        scores, mask = self._scores(examples)
        gold = self.ids_of_tags(examples).to(mask.device)
        return functional.nll_loss(scores[mask], gold[mask], reduction="sum") / len(examples)

    @torch.no_grad()
    def predict(self, examples: Sequence[PredicateInSentence]) -> list[list[str]]:
        """The most probable tags that BIO allows. Without a predicate, all tags are `O`."""
        tags = [["O"] * len(example.tokens) for example in examples]
        with_predicate = [index for index, example in enumerate(examples) if example.predicate is not None]
        if with_predicate:
            scores, mask = self._scores([examples[index] for index in with_predicate])
            for index, path in zip(with_predicate, viterbi(scores, mask, allowed=self.allowed), strict=True):
                tags[index] = [self.labels[label] for label in path]
        return tags

    def _scores(self, examples: Sequence[PredicateInSentence]) -> tuple[Float[Tensor, "B T K"], Bool[Tensor, "B T"]]:
        vectors = self.inputs([example.tokens for example in examples])
        predicates = torch.tensor([example.predicate for example in examples], device=vectors.mask.device)
        flags = self.flags(functional.one_hot(predicates, vectors.mask.shape[1]))
        hidden = self.encoder(torch.cat([self.input_dropout(vectors.inputs), flags], dim=2), vectors.mask)
        hidden = self.output_dropout(torch.cat([hidden, vectors.outputs], dim=2))
        return self.dense(hidden).log_softmax(dim=2), vectors.mask
