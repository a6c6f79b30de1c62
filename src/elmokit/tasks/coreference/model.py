"""End-to-end coreference: score all spans, keep the best, give each an antecedent or none (Lee et al., 2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import torch
from torch import Tensor, nn

from elmokit.layers.tasks.recurrent import CoupledBiLSTM
from elmokit.layers.tasks.spans import (
    NUM_DISTANCE_BUCKETS,
    SpanRepresentation,
    Spans,
    distance_buckets,
    enumerate_spans,
    prune_spans,
)
from elmokit.tasks.coreference.task import CoreferenceDocument, genre
from elmokit.tasks.task_model import TaskModel, glorot

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from elmokit.tasks.coreference.task import CoreferenceConfig
    from elmokit.tasks.inputs import TokenInputs


class CoreferenceResolver(TaskModel):
    """Document -> clusters of mentions; a mention is given by its first and last token."""

    def __init__(self, config: CoreferenceConfig, inputs: TokenInputs, genres: Sequence[str]) -> None:
        super().__init__(inputs)
        self.config = config
        self.genre_ids: Final = {genre: index for index, genre in enumerate(genres, start=1)}
        self.input_dropout: Final = nn.Dropout(config.input_dropout_rate)
        self.dropout: Final = nn.Dropout(config.dropout_rate)
        self.encoder: Final = CoupledBiLSTM(
            input_dim=inputs.input_dim,
            hidden_dim=config.hidden_dim,
            recurrent_dropout_rate=config.recurrent_dropout_rate,
        )
        encoded_dim = 2 * config.hidden_dim + inputs.output_dim
        self.represent: Final = SpanRepresentation(
            encoded_dim=encoded_dim,
            max_width=config.max_width,
            width_dim=config.feature_dim,
            dropout_rate=config.dropout_rate,
        )
        span_dim = 2 * encoded_dim + config.feature_dim + inputs.input_dim
        self.score_mention: Final = nn.Sequential(
            glorot(nn.Linear(span_dim, config.scorer_dim)), *_rest_of_scorer(config)
        )
        self.score_pair: Final = PairScorer(config, span_dim=span_dim, num_genres=len(self.genre_ids))

    def forward(self, examples: Sequence[CoreferenceDocument]) -> Float[Tensor, ""]:
        """Negative log likelihood of all correct antecedents, summed over spans and averaged over documents.

        Training reads at most `max_train_sentences` of each document, starting at a random sentence.
        """
        losses: list[Tensor] = []
        for document in examples:
            if self.training and (most := self.config.max_train_sentences):
                start = int(torch.randint(max(len(document.sentences) - most, 0) + 1, ()))
                document = part_of(document, start=start, num_sentences=most)
            spans, scores = self._antecedent_scores(document)
            correct = _correct_antecedents(spans, document.clusters, max_antecedents=scores.shape[1] - 1)
            correct_scores = scores.masked_fill(~correct, -torch.inf).logsumexp(dim=1)
            losses.append((scores.logsumexp(dim=1) - correct_scores).sum())
        return torch.stack(losses).mean()

    @torch.no_grad()
    def predict(self, examples: Sequence[CoreferenceDocument]) -> list[list[list[tuple[int, int]]]]:
        """The clusters of each document, in the order of the reader; every cluster has at least two mentions."""
        return [_clusters(*self._antecedent_scores(document)) for document in examples]

    def _antecedent_scores(self, document: CoreferenceDocument) -> tuple[Spans, Float[Tensor, "K M"]]:
        """The kept spans, and the scores of their antecedents: column 0 for none, column m for the m-th span before.

        M is one more than the largest number of antecedents of a span. Documents are read one at a time, because
        spans of different documents are never compared.
        """
        vectors = self.inputs(document.sentences)
        inputs = self.input_dropout(vectors.inputs)
        encoded = self.dropout(self.encoder(inputs, vectors.mask))
        encoded = torch.cat([encoded, vectors.outputs], dim=2)[vectors.mask]
        spans = enumerate_spans(vectors.mask, max_width=self.config.max_width)
        represented = self.represent(encoded, inputs[vectors.mask], spans)
        mention_scores = self.score_mention(represented).squeeze(1)

        max_spans = math.floor(self.config.spans_per_word * len(encoded))
        kept = prune_spans(spans, mention_scores, max_spans=max_spans)
        spans = Spans(first=spans.first[kept], last=spans.last[kept])
        represented, mention_scores = represented[kept], mention_scores[kept]

        exists = _antecedent_exists(len(kept), max_antecedents=self.config.max_antecedents).to(kept.device)
        later, column = exists.nonzero(as_tuple=True)
        earlier = later - column - 1
        speakers = _speakers(document, spans)
        pair_scores = self.score_pair(
            represented,
            later=later,
            earlier=earlier,
            same_speaker=speakers[later] == speakers[earlier],
            genre=self.genre_ids.get(genre(document.name), 0),
        )
        pair_scores = mention_scores[later] + mention_scores[earlier] + pair_scores
        scores = represented.new_full(exists.shape, -torch.inf).masked_scatter(exists, pair_scores)
        return spans, torch.cat([scores.new_zeros(len(kept), 1), scores], dim=1)


class PairScorer(nn.Module):
    """Scores the earlier span of a pair as antecedent of the later one, from `[later; earlier; product; features]`.

    The features are whether the speaker is the same, the genre, and the distance in spans. The first layer multiplies
    each span once instead of once per pair, which gives the same sum.
    """

    def __init__(self, config: CoreferenceConfig, *, span_dim: int, num_genres: int) -> None:
        super().__init__()
        self.span_dim = span_dim
        self.speakers: Final = nn.Embedding(2, config.feature_dim)
        self.genres: Final = nn.Embedding(1 + num_genres, config.feature_dim, padding_idx=0)
        self.distances: Final = nn.Embedding(NUM_DISTANCE_BUCKETS, config.feature_dim)
        for embedding in (self.speakers, self.genres, self.distances):
            nn.init.xavier_uniform_(embedding.weight)  # TensorFlow's default, as in Lee et al.'s code
        nn.init.zeros_(self.genres.weight.detach()[0])  # an unknown genre, which never occurs in training
        self.dropout: Final = nn.Dropout(config.dropout_rate)
        self.first_layer: Final = glorot(nn.Linear(3 * span_dim + 3 * config.feature_dim, config.scorer_dim))
        self.rest: Final = nn.Sequential(*_rest_of_scorer(config))

    def forward(
        self,
        spans: Float[Tensor, "K D"],
        *,
        later: Int[Tensor, " P"],
        earlier: Int[Tensor, " P"],
        same_speaker: Bool[Tensor, " P"],
        genre: int,
    ) -> Float[Tensor, " P"]:
        """`later` and `earlier` are rows of `spans`, which are in the order of the document."""
        of_later, of_earlier, of_product, of_features = torch.split(
            self.first_layer.weight, [self.span_dim] * 3 + [3 * self.speakers.embedding_dim], dim=1
        )
        features = torch.cat(
            [
                self.speakers(same_speaker.long()),
                self.genres(torch.full_like(later, genre)),
                self.distances(distance_buckets(later - earlier)),
            ],
            dim=1,
        )
        hidden = (
            (spans @ of_later.T)[later]
            + (spans @ of_earlier.T)[earlier]
            + (spans[later] * spans[earlier]) @ of_product.T
            + self.dropout(features) @ of_features.T
            + self.first_layer.bias
        )
        return self.rest(hidden).squeeze(1)


def _antecedent_exists(num_spans: int, *, max_antecedents: int) -> Bool[Tensor, "K A"]:
    """Column a is the span a + 1 before; there are as many columns as the last span has antecedents."""
    distances = torch.arange(1, 1 + min(max_antecedents, max(num_spans - 1, 0)))
    return torch.arange(num_spans)[:, None] >= distances


def _correct_antecedents(
    spans: Spans, clusters: Sequence[Sequence[tuple[int, int]]], *, max_antecedents: int
) -> Bool[Tensor, "K M"]:
    """True at the earlier spans of the same cluster, or at column 0 if there are none."""
    cluster_of = {mention: number for number, cluster in enumerate(clusters) for mention in cluster}
    numbers = torch.tensor([cluster_of.get(bounds, -1) for bounds in spans.bounds()], dtype=torch.long)
    exists = _antecedent_exists(len(numbers), max_antecedents=max_antecedents)
    later, column = exists.nonzero(as_tuple=True)
    same = (numbers[later] == numbers[later - column - 1]) & (numbers[later] >= 0)
    correct = torch.zeros_like(exists).masked_scatter(exists, same)
    return torch.cat([~correct.any(dim=1, keepdim=True), correct], dim=1).to(spans.first.device)


def _clusters(spans: Spans, scores: Float[Tensor, "K M"]) -> list[list[tuple[int, int]]]:
    """Each span joins the cluster of its best antecedent, if it has one."""
    bounds = spans.bounds()
    cluster_of: list[list[tuple[int, int]]] = []
    for index, column in enumerate(cast("list[int]", scores.argmax(dim=1).tolist())):
        cluster_of.append(cluster_of[index - column] if column else [])
        cluster_of[index].append(bounds[index])
    starts = [cluster for index, cluster in enumerate(cluster_of) if cluster[0] == bounds[index]]
    return [cluster for cluster in starts if len(cluster) > 1]


def _speakers(document: CoreferenceDocument, spans: Spans) -> Int[Tensor, " K"]:
    """The speaker of each span's first token, as a number."""
    ids = {speaker: number for number, speaker in enumerate(dict.fromkeys(document.speakers))}
    return torch.tensor([ids[speaker] for speaker in document.speakers], device=spans.first.device)[spans.first]


def part_of(document: CoreferenceDocument, *, start: int, num_sentences: int) -> CoreferenceDocument:
    """Some sentences of a document, with the mentions in them; tokens are counted from the first of these sentences."""
    sentences = document.sentences[start : start + num_sentences]
    first = sum(map(len, document.sentences[:start]))
    end = first + sum(map(len, sentences))
    clusters = [[(a - first, b - first) for a, b in cluster if first <= a and b < end] for cluster in document.clusters]
    return replace(
        document,
        sentences=sentences,
        speakers=document.speakers[first:end],
        clusters=[cluster for cluster in clusters if cluster],
    )


def _rest_of_scorer(config: CoreferenceConfig) -> list[nn.Module]:
    """A scorer's layers after its first hidden layer. Biases start at zero; in Lee et al.'s code, at random."""
    return [
        nn.ReLU(),
        nn.Dropout(config.dropout_rate),
        glorot(nn.Linear(config.scorer_dim, config.scorer_dim)),
        nn.ReLU(),
        nn.Dropout(config.dropout_rate),
        glorot(nn.Linear(config.scorer_dim, 1)),
    ]
