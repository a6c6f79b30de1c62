from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.tasks.named_entities.reader import TaggedSentence
from task_examples import NAMED_ENTITIES, SENTENCES


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4))
def test_never_predicts_an_illegal_sequence(stand_in_inputs, seed: int, lengths: list[int]):
    tagger = NAMED_ENTITIES.model(stand_in_inputs(["a"]))
    torch.manual_seed(seed)
    for parameter in tagger.parameters():
        torch.nn.init.normal_(parameter, std=2.0)
    for length, tags in zip(
        lengths, tagger.predict([TaggedSentence(["a"] * length, []) for length in lengths]), strict=True
    ):
        assert len(tags) == length
        assert tags == tags_from_spans(spans_from_tags(tags), num_tokens=length, scheme="BIOUL")


def test_what_is_for_the_output_stands_beside_the_first_layer(stand_in_inputs):
    tagger = NAMED_ENTITIES.model(stand_in_inputs(["New", "York"], output_dim=3)).eval()
    seen: list[Tensor] = []
    tagger.second.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    tagger.predict(SENTENCES[2:3])
    assert seen[0].shape == (1, 2, 2 * 12 + 3)
    torch.testing.assert_close(seen[0][..., 24:], tagger.inputs([["New", "York"]]).outputs)


def test_drops_the_same_features_at_all_tokens_before_both_layers(stand_in_inputs):
    inputs = stand_in_inputs(["New", "York", "."], input_dim=100)
    tagger = NAMED_ENTITIES.model(inputs, first_dim=50, dropout_rate=0.5)
    seen: list[Tensor] = []
    for layer in (tagger.first, tagger.second):
        layer.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0][0] == 0))
    tagger([TaggedSentence(["New", "York", "."], ["O"] * 3)])
    for dropped in seen:
        assert 25 < dropped[0].sum() < 75  # of 100 features
        assert (dropped == dropped[0]).all()
