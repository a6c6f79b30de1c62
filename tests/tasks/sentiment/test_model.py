from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from elmokit.tasks.inputs import EncodedTokens
from elmokit.tasks.sentiment.model import NETWORKS, CNNClassifier
from elmokit.tasks.sentiment.recipes import CLASSIFIERS, SentimentConfig
from task_examples import SENTIMENT


@pytest.mark.parametrize("name", ["bcn", "bilstm"])
def test_what_is_for_the_output_is_read_by_a_second_encoder_next_to_the_first(stand_in_inputs, name: str):
    classifier = SENTIMENT.model(stand_in_inputs(["not", "bad"], output_dim=3), classifier=name)
    encoder, vectors = classifier.network.encoder, classifier.inputs([["not", "bad"]])
    encoded = encoder(vectors)
    assert encoded.shape == (1, 2, 16 + 16)
    torch.testing.assert_close(encoded[..., 16:], encoder.output_lstm(vectors.outputs, vectors.mask))
    assert (encoder(replace(vectors, outputs=-vectors.outputs))[..., :16] == encoded[..., :16]).all()


def test_without_elmo_at_the_output_there_is_one_encoder(stand_in_inputs):
    inputs = stand_in_inputs(["so"])
    assert SENTIMENT.model(inputs).network.encoder(inputs([["so"]])).shape == (1, 1, 16)


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
    network = SENTIMENT.model(stand_in_inputs(["so", "good"])).network
    pooled: list[Tensor] = []
    network.integrator.register_forward_hook(lambda *call: call[2].copy_(torch.tensor([[[1.0] * 16, [3.0] * 16]])))
    network.maxouts[0].register_forward_pre_hook(lambda _, arguments: pooled.append(arguments[0]))
    with torch.no_grad():
        network.pooling.score.weight.fill_(1.0)  # scores 16 and 48: all the weight is on the second token
        network(stand_in_inputs(["so", "good"])([["so", "good"]]))
    torch.testing.assert_close(pooled[0], torch.tensor([[3.0] * 16 + [1.0] * 16 + [2.0] * 16 + [3.0] * 16]))


def test_refuses_empty_filters():
    assert tuple(NETWORKS) == CLASSIFIERS
    with pytest.raises(ValueError, match=r"cnn_filters are \(\(0, 8\),\); expected pairs"):
        replace(SENTIMENT.config, cnn_filters=((0, 8),))
