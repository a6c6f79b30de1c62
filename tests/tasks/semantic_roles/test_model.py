from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.tasks.semantic_roles.model import SemanticRoleParser
from elmokit.tasks.semantic_roles.reader import PredicateInSentence
from task_examples import ANN, PREDICATES, SEMANTIC_ROLES


@pytest.fixture
def parser(stand_in_inputs) -> SemanticRoleParser:
    torch.manual_seed(1)
    made = SEMANTIC_ROLES.model(stand_in_inputs(SEMANTIC_ROLES.words(), input_dim=8, output_dim=3))
    nn.init.normal_(made.dense.weight)
    return made.eval()


def test_the_loss_is_the_sum_over_the_tokens(parser: SemanticRoleParser):
    nn.init.zeros_(parser.dense.weight)  # every tag is as likely as any other
    assert parser([PREDICATES[0]]).item() == pytest.approx(5 * math.log(len(parser.labels.names)))
    assert parser(PREDICATES).item() == pytest.approx(17 / 4 * math.log(len(parser.labels.names)))


def test_the_predicate_decides(parser: SemanticRoleParser):
    first, second = PREDICATES[0], PREDICATES[1]
    asked = PredicateInSentence(ANN, second.predicate, first.tags)
    assert parser([asked]) != parser([first])


def test_without_a_predicate_nothing_is_found_and_nothing_learnt(parser: SemanticRoleParser):
    nothing = PredicateInSentence(ANN, None, ["B-ARG0", "O", "O", "O", "O"])
    assert parser.predict([nothing, PREDICATES[0]]) == [["O"] * 5, *parser.predict(PREDICATES[:1])]
    assert parser.predict([nothing]) == [["O"] * 5]
    assert parser.predict([]) == []
    with pytest.raises(ValueError, match="the predicate is token None; expected 0 to 4"):
        parser([nothing])


@settings(max_examples=25)
@given(seed=st.integers(0, 2**16), scale=st.sampled_from([0.1, 3.0, 100.0]))
def test_never_finds_illegal_tags(stand_in_inputs, seed: int, scale: float):
    inputs = stand_in_inputs(SEMANTIC_ROLES.words(), input_dim=4)
    parser = SEMANTIC_ROLES.model(inputs, flag_dim=2, hidden_dim=4, num_layers=1).eval()
    torch.manual_seed(seed)
    for parameter in parser.parameters():
        nn.init.normal_(parameter, std=scale)
    for tags in parser.predict(PREDICATES):
        # Reading an I that continues nothing as a B, as spans_from_tags does, would change the tags.
        assert tags_from_spans(spans_from_tags(tags), num_tokens=len(tags), scheme="BIO") == tags
