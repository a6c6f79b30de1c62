from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from elmokit.layers.tasks.spans import Spans
from elmokit.tasks.coreference.model import CoreferenceResolver, PairScorer, _clusters, _correct_antecedents, part_of
from elmokit.tasks.coreference.reader import CoreferenceDocument, genre
from elmokit.tasks.coreference.recipes import CoreferenceConfig, paper


def document(text: str, clusters: list[list[tuple[int, int]]], *, name: str = "bc/x") -> CoreferenceDocument:
    sentences = [sentence.split() for sentence in text.split("/")]
    speakers = [f"speaker {number}" for number, sentence in enumerate(sentences) for _ in sentence]
    return CoreferenceDocument(name=name, part=0, sentences=sentences, speakers=speakers, clusters=clusters)


DOCUMENTS = [
    document("Ann saw the cat / It saw her", [[(0, 0), (6, 6)], [(2, 3), (4, 4)]]),
    document("the cat slept / Bob slept", []),
    document("Bob saw Ann / Bob fed the cat / he slept", [[(0, 0), (3, 3), (7, 7)]], name="nw/x"),
    document("she saw Bob and his cat", [[(2, 2), (4, 4)]]),
]
WORDS = [token for example in DOCUMENTS for sentence in example.sentences for token in sentence]
SMALL = CoreferenceConfig(hidden_dim=12, feature_dim=4, scorer_dim=16, max_width=4, spans_per_word=0.8)


@pytest.fixture
def resolver(stand_in_inputs) -> CoreferenceResolver:
    torch.manual_seed(1)
    made = CoreferenceResolver(SMALL, inputs=stand_in_inputs(WORDS, output_dim=3), genres=["bc", "nw"])
    for parameter in made.score_pair.parameters():
        nn.init.normal_(parameter)
    return made.eval()


@pytest.mark.slow
def test_learns_four_documents_by_heart(stand_in_inputs):
    torch.manual_seed(0)
    config = replace(SMALL, max_width=2, spans_per_word=1.5)  # what is never kept is never learnt
    resolver = CoreferenceResolver(config, inputs=stand_in_inputs(WORDS), genres=["bc", "nw"])
    optimizer = torch.optim.Adam(resolver.parameters(), lr=0.01)
    for _ in range(80):
        optimizer.zero_grad()
        resolver(DOCUMENTS).backward()
        optimizer.step()
    resolver.eval()
    assert resolver.predict(DOCUMENTS) == [example.clusters for example in DOCUMENTS]
    assert resolver(DOCUMENTS) < 1.0


def test_the_others_of_a_batch_change_nothing(resolver: CoreferenceResolver):
    together = resolver.predict(DOCUMENTS)
    assert any(together) and [resolver.predict([example])[0] for example in DOCUMENTS] == together
    losses = torch.stack([resolver([example]) for example in DOCUMENTS])
    torch.testing.assert_close(resolver(DOCUMENTS), losses.mean())
    assert resolver.predict([]) == []


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


def test_keeps_as_many_spans_and_antecedents_as_it_is_told(stand_in_inputs):
    inputs = stand_in_inputs(WORDS)
    for ratio, num_spans in ((0.4, 3), (0.1, 0), (0.5, 4)):
        config = replace(SMALL, spans_per_word=ratio, max_antecedents=2)
        resolver = CoreferenceResolver(config, inputs=inputs, genres=["bc", "nw"]).eval()
        spans, scores = resolver._antecedent_scores(DOCUMENTS[2])  # of 9 tokens
        assert len(spans.first) == num_spans
        assert scores.shape == (num_spans, 1 + min(max(num_spans - 1, 0), 2))
        resolver([DOCUMENTS[2]]).backward()


def test_correct_antecedents_by_hand():
    spans = Spans(first=torch.tensor([0, 2, 5, 5, 8]), last=torch.tensor([0, 3, 5, 6, 8]))
    clusters = [[(0, 0), (5, 5), (8, 8)], [(2, 3), (9, 9)]]
    right = _correct_antecedents(spans, clusters, max_antecedents=4)
    # Columns: none, then 1, 2, 3, 4 spans before. (2, 3) is alone, since (9, 9) was not kept; (5, 6) is no mention.
    assert right.int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0],
        [1, 0, 0, 0, 0],
        [0, 0, 1, 0, 1],
    ]
    assert _correct_antecedents(spans, clusters, max_antecedents=1).int().tolist() == [[1, 0]] * 5


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


def test_the_vector_of_unknown_genres_starts_at_zero_and_is_not_trained():
    score = PairScorer(SMALL, span_dim=5, num_genres=2)
    one = torch.tensor([1])
    score(torch.randn(2, 5), later=one, earlier=one - 1, same_speaker=one > 0, genre=0).backward()
    assert score.genres.weight.grad is not None
    assert not score.genres.weight[0].any() and not score.genres.weight.grad[0].any()


def test_genres_are_read_off_the_names_of_ontonotes_and_gum():
    assert genre("bc/cnn/00/cnn_0000") == "bc"
    assert genre("GUM_news_asylum") == "news"
    assert genre("text") == genre("my_text") == ""


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


def test_mentions_never_cross_and_are_in_one_cluster_each(resolver: CoreferenceResolver):
    for clusters in resolver.predict(DOCUMENTS):
        mentions = list(chain.from_iterable(clusters))
        assert len(set(mentions)) == len(mentions)
        assert not any(a < c <= b < d for a, b in mentions for c, d in mentions)


def test_the_paper_s_recipe_has_the_published_sizes(stand_in_inputs):
    recipe = paper()
    inputs = stand_in_inputs(WORDS, input_dim=300 + 150)
    resolver = CoreferenceResolver(recipe.model, inputs=inputs, genres=["bc", "bn", "mz", "nw", "pt", "tc", "wb"])
    lstm = 2 * (3 * 200 * (450 + 200) + 3 * 200 + 2 * 200)
    span = 400 + 400 + 20 + 450
    heads_and_widths = 400 + 10 * 20
    hidden = 150 * 150 + 150 + 150 + 1
    mention, pair = 150 * span + 150 + hidden, 150 * (3 * span + 60) + 150 + hidden
    features = (2 + 8 + 10) * 20  # one genre more than OntoNotes has: none of them
    vectors = sum(parameter.numel() for parameter in inputs.parameters())
    expected = lstm + heads_and_widths + mention + pair + features
    assert sum(parameter.numel() for parameter in resolver.parameters()) - vectors == expected
