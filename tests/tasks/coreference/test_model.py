from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from elmokit.layers.tasks.spans import Spans
from elmokit.tasks.coreference.model import CoreferenceResolver, PairScorer, _clusters, part_of
from task_examples import COREFERENCE, DOCUMENTS, document

SMALL = COREFERENCE.config
WORDS = COREFERENCE.words()


@pytest.fixture
def resolver(stand_in_inputs) -> CoreferenceResolver:
    torch.manual_seed(1)
    made = COREFERENCE.model(stand_in_inputs(WORDS, output_dim=3))
    for parameter in made.score_pair.parameters():
        nn.init.normal_(parameter)
    return made.eval()


def test_the_loss_is_minus_the_log_likelihood_of_all_correct_antecedents_together(resolver: CoreferenceResolver):
    example = DOCUMENTS[2]
    spans, scores = resolver._antecedent_scores(example)
    mentions = list(zip(spans.first.tolist(), spans.last.tolist(), strict=True))
    (cluster,) = example.clusters
    expected = torch.zeros(())
    for later, mention in enumerate(mentions):
        assert scores[later, later + 1 :].eq(-torch.inf).all()  # nothing stands there
        right = [later - earlier for earlier in range(later) if {mention, mentions[earlier]} <= set(cluster)]
        expected -= scores[later].log_softmax(dim=0)[right or [0]].logsumexp(dim=0)
    assert expected > 0
    torch.testing.assert_close(resolver([example]), expected)


def test_column_m_has_the_score_with_the_span_m_places_before(resolver: CoreferenceResolver):
    for parameter in resolver.score_mention.parameters():
        nn.init.zeros_(parameter)
    resolver.score_pair.register_forward_hook(
        lambda module, args, named, output: 100.0 * named["later"] + named["earlier"], with_kwargs=True
    )
    _, scores = resolver._antecedent_scores(DOCUMENTS[2])
    assert len(scores) > 3
    for later in range(len(scores)):
        assert scores[later, 1 : later + 1].tolist() == [100.0 * later + later - m for m in range(1, later + 1)]


@given(st.data())
def test_clusters_follow_the_best_antecedents(data: st.DataObject):
    num_spans = data.draw(st.integers(0, 8))
    places = [data.draw(st.integers(0, index)) for index in range(num_spans)]  # back to the best antecedent
    positions = torch.arange(num_spans)
    scores = torch.full((num_spans, max(num_spans, 1)), -torch.inf)
    scores[:, 0] = 0
    for index, back in enumerate(places):
        scores[index, back] = 1
    clusters = _clusters(Spans(first=positions, last=positions), scores)
    together = {index: {index} for index in range(num_spans)}
    for index, back in enumerate(places):
        merged = together[index] | together[index - back]
        for member in merged:
            together[member] = merged
    expected = {frozenset(cluster) for cluster in together.values() if len(cluster) > 1}
    assert {frozenset(first for first, _ in cluster) for cluster in clusters} == expected
    assert len(clusters) == len(expected) and sorted(map(sorted, clusters)) == clusters


def test_a_pair_s_score_is_that_of_the_whole_layer():
    torch.manual_seed(0)
    score = PairScorer(SMALL, span_dim=5, num_genres=2).eval()
    spans, later, earlier = torch.randn(9, 5), torch.tensor([3, 8, 8]), torch.tensor([2, 0, 7])
    same_speaker = torch.tensor([True, False, True])
    made = score(spans, later=later, earlier=earlier, same_speaker=same_speaker, genre=2)
    features = [
        score.speakers(same_speaker.long()),
        score.genres(torch.tensor([2, 2, 2])),
        score.distances(torch.tensor([1, 6, 1])),  # distances 1, 8 and 1
    ]
    whole = torch.cat([spans[later], spans[earlier], spans[later] * spans[earlier], *features], dim=1)
    torch.testing.assert_close(made, score.rest(score.first_layer(whole)).squeeze(1))


def test_speakers_and_genre_matter_and_an_unknown_genre_adds_nothing(resolver: CoreferenceResolver):
    example = DOCUMENTS[0]
    loss = resolver([example])
    assert resolver([replace(example, speakers=["Ann"] * 7)]) != loss
    assert resolver([replace(example, name="nw/x")]) != loss
    with torch.no_grad():
        resolver.score_pair.genres.weight[0] = 0.0
        resolver.score_pair.genres.weight[1] = 0.0
    torch.testing.assert_close(resolver([replace(example, name="text")]), resolver([example]))


def test_a_part_of_a_document_has_the_mentions_in_it():
    example = DOCUMENTS[2]
    assert part_of(example, start=1, num_sentences=2) == replace(
        document("Bob fed the cat / he slept", [[(0, 0), (4, 4)]], name="nw/x"), speakers=example.speakers[3:]
    )
    assert part_of(example, start=0, num_sentences=9) == example
    assert part_of(DOCUMENTS[0], start=1, num_sentences=1).clusters == [[(2, 2)], [(0, 0)]]
    assert part_of(DOCUMENTS[1], start=1, num_sentences=1).clusters == []


def test_training_reads_a_random_part_of_a_long_document_and_evaluation_all(stand_in_inputs):
    read: list[list[list[str]]] = []
    inputs = stand_in_inputs(WORDS)
    inputs.register_forward_pre_hook(lambda _, arguments: read.append(list(arguments[0])))
    resolver = CoreferenceResolver(replace(SMALL, max_train_sentences=2), inputs=inputs, genres=[])
    torch.manual_seed(0)
    for _ in range(20):
        resolver([DOCUMENTS[2]]).backward()
    sentences = DOCUMENTS[2].sentences
    assert all(part in (sentences[:2], sentences[1:]) for part in read)
    assert sentences[:2] in read and sentences[1:] in read
    resolver.eval()([DOCUMENTS[2]])
    assert read[-1] == sentences


def test_documents_of_a_word_and_without_clusters(resolver: CoreferenceResolver):
    word = document("Ann", [])
    assert resolver.predict([word]) == [[]]
    resolver.train()
    loss = resolver([word, DOCUMENTS[1]])
    loss.backward()
    resolver([word]).backward()
    assert resolver([word]) == 0
