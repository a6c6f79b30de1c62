from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.tasks.named_entities.model import NamedEntityTagger
from elmokit.tasks.named_entities.reader import TaggedSentence
from elmokit.tasks.named_entities.recipes import NamedEntitiesConfig, paper
from elmokit.tasks.named_entities.task import symbols

SENTENCES = [
    TaggedSentence(
        ["Jane", "Ann", "Lee", "lives", "in", "Seoul", "."], ["B-PER", "I-PER", "L-PER", "O", "O", "U-LOC", "O"]
    ),
    TaggedSentence(["Seoul", "beats", "New", "York", "."], ["U-ORG", "O", "B-ORG", "L-ORG", "O"]),
    TaggedSentence(["New", "York"], ["B-LOC", "L-LOC"]),
    TaggedSentence(["Hello"], ["O"]),
]
LABELS = symbols(SENTENCES)
SMALL = NamedEntitiesConfig(first_dim=12, second_dim=8, dropout_rate=0.0)


@pytest.fixture
def tagger(stand_in_inputs) -> NamedEntityTagger:
    words = [token for sentence in SENTENCES for token in sentence.tokens]
    return NamedEntityTagger(SMALL, inputs=stand_in_inputs(words, output_dim=3), labels=LABELS)


def test_learns_four_sentences_by_heart(tagger: NamedEntityTagger):
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loss = tagger(SENTENCES)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert tagger.eval().predict(SENTENCES) == [sentence.tags for sentence in SENTENCES]


def test_the_company_of_a_batch_changes_nothing_and_losses_add_up(tagger: NamedEntityTagger):
    tagger.eval()
    alone = torch.stack([tagger([sentence]) for sentence in SENTENCES])
    torch.testing.assert_close(tagger(SENTENCES), alone.sum())
    assert tagger.predict(SENTENCES) == [tagger.predict([sentence])[0] for sentence in SENTENCES]


def test_predicting_does_not_look_at_the_tags(tagger: NamedEntityTagger):
    untagged = [TaggedSentence(sentence.tokens, []) for sentence in SENTENCES]
    assert tagger.predict(untagged) == tagger.predict(SENTENCES)


@given(seed=st.integers(0, 1000), lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_never_predicts_an_illegal_sequence(stand_in_inputs, seed: int, lengths: list[int]):
    tagger = NamedEntityTagger(SMALL, inputs=stand_in_inputs(["a"]), labels=LABELS)
    torch.manual_seed(seed)
    for parameter in tagger.parameters():
        torch.nn.init.normal_(parameter, std=2.0)
    for length, tags in zip(
        lengths, tagger.predict([TaggedSentence(["a"] * length, []) for length in lengths]), strict=True
    ):
        assert len(tags) == length
        assert tags == tags_from_spans(spans_from_tags(tags), num_tokens=length, scheme="BIOUL")


def test_what_is_for_the_output_stands_beside_the_first_layer(tagger: NamedEntityTagger):
    seen: list[Tensor] = []
    tagger.second.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    tagger.predict(SENTENCES[2:3])
    assert seen[0].shape == (1, 2, 2 * 12 + 3)
    torch.testing.assert_close(seen[0][..., 24:], tagger.inputs([["New", "York"]]).outputs)


def test_drops_the_same_features_at_all_tokens_before_both_layers(stand_in_inputs):
    config = NamedEntitiesConfig(first_dim=50, second_dim=8, dropout_rate=0.5)
    tagger = NamedEntityTagger(config, inputs=stand_in_inputs(["New", "York", "."], input_dim=100), labels=LABELS)
    seen: list[Tensor] = []
    for layer in (tagger.first, tagger.second):
        layer.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0][0] == 0))
    tagger([TaggedSentence(["New", "York", "."], ["O"] * 3)])
    for dropped in seen:
        assert 25 < dropped[0].sum() < 75  # of 100 features
        assert (dropped == dropped[0]).all()


def test_refuses_unknown_and_missing_tags(tagger: NamedEntityTagger):
    with pytest.raises(ValueError, match=r"'New' \.\.\. has the tag 'U-FOOD'; the labels are O, B-LOC"):
        tagger([TaggedSentence(["New", "York"], ["U-FOOD", "O"])])
    with pytest.raises(ValueError, match=r"'New' \.\.\. has 2 tokens but 0 tags"):
        tagger([TaggedSentence(["New", "York"], [])])


def test_the_paper_recipe_has_the_published_sizes(stand_in_inputs):
    conll = ["O", *(f"{prefix}-{kind}" for kind in ("LOC", "MISC", "ORG", "PER") for prefix in "BILU")]
    inputs = stand_in_inputs(["a"], input_dim=50 + 128 + 1024)  # words, characters, ELMo at the input
    tagger = NamedEntityTagger(paper().model, inputs=inputs, labels=conll)
    first = 2 * 4 * 200 * (1202 + 200 + 2)  # directions, gates, units, inputs and state and two biases
    second = 2 * 4 * 100 * (400 + 100 + 2)
    dense, transitions = 17 * (200 + 1), 17 * 17
    own = sum(parameter.numel() for name, parameter in tagger.named_parameters() if not name.startswith("inputs."))
    assert own == first + second + dense + transitions == 2_651_706
