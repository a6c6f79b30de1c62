"""Model that finds answers in a passage: BiDAF with self-attention (Clark and Gardner, 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from elmokit.layers.tasks.attention import BidirectionalAttention, SelfAttention
from elmokit.layers.tasks.recurrent import BiGRU, VariationalDropout
from elmokit.tasks.question_answering.task import FoundAnswer, Question
from elmokit.tasks.task_model import TaskModel, glorot

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from elmokit.tasks.inputs import TokenInputs
    from elmokit.tasks.question_answering.task import QuestionAnsweringConfig


class AnswerFinder(TaskModel):
    """Questions about passages -> spans of the passages."""

    def __init__(self, config: QuestionAnsweringConfig, inputs: TokenInputs, symbols: Sequence[str]) -> None:
        super().__init__(inputs)
        self.max_answer_tokens: Final = config.max_answer_tokens
        dim, both = config.hidden_dim, 2 * config.hidden_dim
        self.dropout: Final = VariationalDropout(rate=config.dropout_rate)
        self.encoder: Final = BiGRU(input_dim=inputs.input_dim, hidden_dim=dim)
        self.attention: Final = BidirectionalAttention(dim=both + inputs.output_dim)
        # As in Clark and Gardner's code
        self.attention_dense: Final = glorot(nn.Linear(4 * (both + inputs.output_dim), both))
        self.self_encoder: Final = BiGRU(input_dim=both, hidden_dim=dim)
        self.self_attention: Final = SelfAttention(dim=both)
        self.self_dense: Final = glorot(nn.Linear(3 * both, both))
        self.start_encoder: Final = BiGRU(input_dim=both, hidden_dim=dim)
        self.end_encoder: Final = BiGRU(input_dim=2 * both, hidden_dim=dim)
        self.start_score: Final = glorot(nn.Linear(both, 1, bias=False))  # a bias would cancel in the softmax
        self.end_score: Final = glorot(nn.Linear(both, 1, bias=False))

    def forward(self, examples: Sequence[Question]) -> Float[Tensor, ""]:
        """Mean cross entropy of the first token plus that of the last token, for the first answer that has tokens."""
        start, end = self._scores(examples)
        spans = [next(answer.span for answer in question.answers if answer.span is not None) for question in examples]
        first, last = torch.tensor(spans, device=start.device).T
        return functional.cross_entropy(start, first) + functional.cross_entropy(end, last)

    @torch.no_grad()
    def predict(self, examples: Sequence[Question]) -> list[FoundAnswer]:
        """The best span of each passage, of at most `max_answer_tokens` tokens."""
        start, end = self._scores(examples)
        spans = best_spans(start, end, max_tokens=self.max_answer_tokens)
        start, end = start.softmax(dim=1), end.softmax(dim=1)
        answers: list[FoundAnswer] = []
        for row, (question, (first, last)) in enumerate(zip(examples, spans, strict=True)):
            probability = float(start[row, first] * end[row, last])
            answers.append(FoundAnswer(question.passage.span(first, last).text, (first, last), probability))
        return answers

    def _scores(self, examples: Sequence[Question]) -> tuple[Float[Tensor, "B T"], Float[Tensor, "B T"]]:
        """Scores of the passage's tokens as first and as last token of the answer; padding has the lowest number."""
        context, mask = self._encoded([question.passage.tokens for question in examples])
        question, question_mask = self._encoded([question.tokens for question in examples])
        attended = self.attention(context, question, context_mask=mask, question_mask=question_mask)
        read = self.attention_dense(attended).relu()
        to_itself = self.self_attention(self.dropout(self.self_encoder(self.dropout(read), mask)), mask)
        read = self.dropout(read + self.self_dense(to_itself).relu())
        starting = self.start_encoder(read, mask)
        ending = self.end_encoder(torch.cat([read, starting], dim=2), mask)
        lowest = torch.finfo(read.dtype).min
        start = self.start_score(starting).squeeze(2).masked_fill(~mask, lowest)
        return start, self.end_score(ending).squeeze(2).masked_fill(~mask, lowest)

    def _encoded(self, sentences: Sequence[Sequence[str]]) -> tuple[Float[Tensor, "B T E"], Bool[Tensor, "B T"]]:
        vectors = self.inputs(sentences)
        encoded = self.dropout(self.encoder(self.dropout(vectors.inputs), vectors.mask))
        return torch.cat([encoded, vectors.outputs], dim=2), vectors.mask


def best_spans(start: Float[Tensor, "B T"], end: Float[Tensor, "B T"], *, max_tokens: int) -> list[tuple[int, int]]:
    """First and last token of the span with the highest sum of scores. Ties go to the earliest, then the shortest."""
    num_tokens = start.shape[1]
    widths = min(max_tokens, num_tokens)
    sums = start.new_full((*start.shape, widths), float("-inf"))
    for width in range(widths):
        sums[:, : num_tokens - width, width] = start[:, : num_tokens - width] + end[:, width:]
    best = cast("list[int]", sums.flatten(1).argmax(dim=1).tolist())
    return [(index // widths, index // widths + index % widths) for index in best]
