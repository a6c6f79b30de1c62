from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from elmokit.tasks.inputs import EncodedTokens
from elmokit.tasks.sentiment.model import NETWORKS, CNNClassifier, SentimentClassifier
from elmokit.tasks.sentiment.reader import LabelledText
from elmokit.tasks.sentiment.recipes import CLASSIFIERS, SentimentConfig, paper
from elmokit.tasks.sentiment.task import build

TEXTS = [
    LabelledText(["It", "'s", "good"], "positive"),
    LabelledText(["It", "'s", "not", "good", ",", "it", "is", "bad"], "negative"),
    LabelledText(["not", "bad"], "positive"),
    LabelledText(["it"], "neutral"),
]
LABELS = ["negative", "neutral", "positive"]
SMALL = SentimentConfig(
    projection_dim=12,
    encoder_dim=8,
    integrator_dim=8,
    maxout_dims=(16, 8),
    input_dropout_rate=0.0,
    projection_dropout_rate=0.0,
    integrator_dropout_rate=0.0,
    output_dropout_rates=(0.0, 0.0),
    cnn_filters=((2, 8), (3, 8)),
)


@pytest.fixture(params=["bcn", "bilstm", "cnn"])
def classifier(request: pytest.FixtureRequest, stand_in_inputs) -> SentimentClassifier:
    words = [token for text in TEXTS for token in text.tokens]
    return build(replace(SMALL, classifier=request.param), stand_in_inputs(words, output_dim=3), LABELS)


def test_learns_four_texts_by_heart(classifier: SentimentClassifier):
    optimizer = torch.optim.Adam(classifier.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = classifier(TEXTS)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    assert [prediction.label for prediction in classifier.eval().predict(TEXTS)] == [text.label for text in TEXTS]


def test_the_company_of_a_batch_changes_nothing(classifier: SentimentClassifier):
    classifier.eval()
    alone = torch.stack([classifier([text]) for text in TEXTS])
    torch.testing.assert_close(classifier(TEXTS), alone.mean())
    for text, prediction in zip(TEXTS, classifier.predict(TEXTS), strict=True):
        assert prediction.probabilities == pytest.approx(classifier.predict([text])[0].probabilities, abs=1e-6)


def test_predicts_the_most_probable_label_without_looking_at_the_given_one(classifier: SentimentClassifier):
    unlabelled = [LabelledText(text.tokens, None) for text in TEXTS]
    assert classifier.eval().predict(unlabelled) == classifier.predict(TEXTS)
    for prediction in classifier.predict(unlabelled):
        assert sum(prediction.probabilities.values()) == pytest.approx(1)
        assert prediction.probabilities[prediction.label] == max(prediction.probabilities.values())


@pytest.mark.parametrize("classifier", ["bcn", "bilstm"], indirect=True)
def test_what_is_for_the_output_is_read_by_a_second_encoder_next_to_the_first(classifier: SentimentClassifier):
    encoder, vectors = classifier.network.encoder, classifier.inputs([["not", "bad"]])
    encoded = encoder(vectors)
    assert encoded.shape == (1, 2, 16 + 16)
    torch.testing.assert_close(encoded[..., 16:], encoder.output_lstm(vectors.outputs, vectors.mask))
    assert (encoder(replace(vectors, outputs=-vectors.outputs))[..., :16] == encoded[..., :16]).all()


def test_without_elmo_at_the_output_there_is_one_encoder(stand_in_inputs):
    inputs = stand_in_inputs(["so"])
    assert build(SMALL, inputs, LABELS).network.encoder(inputs([["so"]])).shape == (1, 1, 16)


def test_a_filter_gives_its_largest_response_over_all_windows_that_touch_the_text():
    config = SentimentConfig(cnn_filters=((2, 1),), classifier="cnn")
    network = CNNClassifier(config, input_dim=1, output_dim=1, num_labels=2).eval()
    assert network.output_filters is not None
    for filters, weight in ((network.filters, [1.0, 10.0]), (network.output_filters, [1.0, 0.0])):
        convolution = filters.convolutions[0]
        with torch.no_grad():
            convolution.weight.copy_(torch.tensor([[weight]]))
            convolution.bias.fill_(-1.0)
    inputs = torch.tensor([[[1.0], [2.0], [3.0]], [[-1.0], [5.0], [9.0]]])
    mask = torch.tensor([[True, True, True], [True, False, False]])
    given: list[Tensor] = []
    network.linear.register_forward_pre_hook(lambda _, arguments: given.append(arguments[0]))
    network(EncodedTokens(inputs, inputs, mask))
    # windows of the first text: 0 1, 1 2, 2 3, 3 0; of the second: 0 -1, -1 0, whose responses are below 0
    torch.testing.assert_close(given[0], torch.tensor([[2.0 + 30 - 1, 3.0 - 1], [0.0, 0.0]]))


def test_bcn_pools_maximum_minimum_mean_and_what_it_attends_to(stand_in_inputs):
    network = build(SMALL, stand_in_inputs(["so", "good"]), LABELS).network
    pooled: list[Tensor] = []
    network.integrator.register_forward_hook(lambda *call: call[2].copy_(torch.tensor([[[1.0] * 16, [3.0] * 16]])))
    network.maxouts[0].register_forward_pre_hook(lambda _, arguments: pooled.append(arguments[0]))
    with torch.no_grad():
        network.pooling.score.weight.fill_(1.0)  # scores 16 and 48: all the weight is on the second token
        network(stand_in_inputs(["so", "good"])([["so", "good"]]))
    torch.testing.assert_close(pooled[0], torch.tensor([[3.0] * 16 + [1.0] * 16 + [2.0] * 16 + [3.0] * 16]))


def test_refuses_texts_without_one_of_the_labels(classifier: SentimentClassifier):
    with pytest.raises(ValueError, match=r"'not' \.\.\. has the label None; the labels are negative, neutral"):
        classifier([LabelledText(["not", "bad"], None)])


def test_refuses_an_unknown_classifier_and_empty_filters():
    assert tuple(NETWORKS) == CLASSIFIERS
    with pytest.raises(ValueError, match="classifier is 'gru'; expected one of bcn, bilstm, cnn"):
        replace(SMALL, classifier="gru")
    with pytest.raises(ValueError, match=r"cnn_filters are \(\(0, 8\),\); expected pairs"):
        replace(SMALL, cnn_filters=((0, 8),))


def test_the_paper_recipe_has_the_published_sizes(stand_in_inputs):
    inputs = stand_in_inputs(["a"], input_dim=300 + 1024, output_dim=1024)  # words and ELMo; ELMo
    classifier = build(paper().model, inputs, list("01234"))
    projection = 300 * (1324 + 1)
    encoder = 2 * 4 * 300 * (300 + 300 + 2)  # directions, gates, units, inputs and state and two biases
    of_output = 2 * 4 * 300 * (1024 + 300 + 2)
    integrator = 2 * 4 * 300 * (3 * (600 + 600) + 300 + 2)
    pooling = 600
    maxouts = 4 * (1200 * (2400 + 1) + 600 * (1200 + 1) + 5 * (600 + 1))
    own = sum(parameter.numel() for name, parameter in classifier.named_parameters() if not name.startswith("inputs."))
    assert own == projection + encoder + of_output + integrator + pooling + maxouts == 28_809_320
