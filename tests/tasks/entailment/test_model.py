from __future__ import annotations

import pytest
import torch
from torch import Tensor

from elmokit.tasks.entailment.model import EntailmentClassifier
from elmokit.tasks.entailment.reader import SentencePair
from task_examples import ENTAILMENT


@pytest.fixture
def classifier(stand_in_inputs) -> EntailmentClassifier:
    return ENTAILMENT.model(stand_in_inputs(ENTAILMENT.words(), output_dim=3))


def test_compares_each_token_with_what_the_other_sentence_has_for_it(classifier: EntailmentClassifier):
    seen: list[Tensor] = []
    classifier.encoder.register_forward_hook(lambda *call: seen.append(call[2]))
    classifier.projection.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    pair = SentencePair(["A", "dog"], ["It", "rains"], None)
    classifier.predict([pair])
    encoded, compared = seen
    outputs = classifier.inputs([pair.premise, pair.hypothesis]).outputs
    premise, hypothesis = torch.cat([encoded, outputs], dim=2)
    other = (premise[0] @ hypothesis.T).softmax(dim=0) @ hypothesis  # of the premise's first token
    token = premise[0]
    expected = torch.cat([token, other, token - other, token * other])
    torch.testing.assert_close(compared[0, 0], expected)
    back = (hypothesis[1] @ premise.T).softmax(dim=0) @ premise  # of the hypothesis' second token
    torch.testing.assert_close(compared[1, 1, 19:38], back)


def test_pools_mean_and_maximum_of_the_premise_and_then_of_the_hypothesis(classifier: EntailmentClassifier):
    seen: list[Tensor] = []

    def replaced(*call: object) -> Tensor:
        return torch.tensor([[[1.0] * 16, [3.0] * 16], [[5.0] * 16, [0.0] * 16]])

    classifier.inference.register_forward_hook(replaced)
    classifier.hidden.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    classifier.predict([SentencePair(["A", "dog"], ["rains"], None)])
    torch.testing.assert_close(seen[0], torch.tensor([[2.0] * 16 + [3.0] * 16 + [5.0] * 32]))
