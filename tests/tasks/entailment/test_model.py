from __future__ import annotations

import pytest
import torch
from torch import Tensor

from elmokit.tasks.entailment.model import EntailmentClassifier
from elmokit.tasks.entailment.reader import LABELS, SentencePair
from elmokit.tasks.entailment.recipes import EntailmentConfig, paper

PAIRS = [
    SentencePair(["A", "dog", "runs"], ["An", "animal", "runs"], "entailment"),
    SentencePair(["A", "dog", "runs"], ["A", "dog", "sleeps"], "contradiction"),
    SentencePair(["It", "is", "cold", "and", "it", "rains"], ["Ann", "runs"], "neutral"),
    SentencePair(["rains"], ["It", "is", "cold", "and", "it", "rains"], "neutral"),
]
SMALL = EntailmentConfig(
    encoder_dim=8, projection_dim=8, inference_dim=8, hidden_dim=8, lstm_dropout_rate=0.0, output_dropout_rate=0.0
)


@pytest.fixture
def classifier(stand_in_inputs) -> EntailmentClassifier:
    words = [token for pair in PAIRS for token in pair.premise + pair.hypothesis]
    return EntailmentClassifier(SMALL, inputs=stand_in_inputs(words, output_dim=3), labels=LABELS)


def test_learns_four_pairs_by_heart(classifier: EntailmentClassifier):
    optimizer = torch.optim.Adam(classifier.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = classifier(PAIRS)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    assert [made.label for made in classifier.eval().predict(PAIRS)] == [pair.label for pair in PAIRS]


def test_the_company_of_a_batch_changes_nothing(classifier: EntailmentClassifier):
    classifier.eval()
    alone = torch.stack([classifier([pair]) for pair in PAIRS])
    torch.testing.assert_close(classifier(PAIRS), alone.mean())
    for pair, made in zip(PAIRS, classifier.predict(PAIRS), strict=True):
        assert made.probabilities == pytest.approx(classifier.predict([pair])[0].probabilities, abs=1e-6)


def test_predicts_the_most_probable_label_without_looking_at_the_given_one(classifier: EntailmentClassifier):
    unlabelled = [SentencePair(pair.premise, pair.hypothesis, None) for pair in PAIRS]
    predictions = classifier.eval().predict(unlabelled)
    assert predictions == classifier.predict(PAIRS)
    for made in predictions:
        assert sum(made.probabilities.values()) == pytest.approx(1)
        assert made.probabilities[made.label] == max(made.probabilities.values())


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


def test_refuses_pairs_without_one_of_the_labels(classifier: EntailmentClassifier):
    with pytest.raises(ValueError, match="the pair 'rains', 'It' has the label None; the labels are entailment, neu"):
        classifier([SentencePair(["rains"], ["It"], None)])


def test_the_paper_recipe_has_the_published_sizes(stand_in_inputs):
    inputs = stand_in_inputs(["a"], input_dim=300 + 1024, output_dim=1024)  # words and ELMo; ELMo
    classifier = EntailmentClassifier(paper().model, inputs=inputs, labels=LABELS)
    encoder = 2 * 4 * 300 * (1324 + 300 + 2)  # directions, gates, units, inputs and state and two biases
    projection = 300 * (4 * (600 + 1024) + 1)
    inference = 2 * 4 * 300 * (300 + 300 + 2)
    hidden = 300 * (2400 + 1)
    own = sum(parameter.numel() for name, parameter in classifier.named_parameters() if not name.startswith("inputs."))
    assert own == encoder + projection + inference + hidden + 3 * (300 + 1) == 8_017_503
