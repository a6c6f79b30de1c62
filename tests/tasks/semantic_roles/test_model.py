from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.tasks.semantic_roles.model import SemanticRoleParser
from elmokit.tasks.semantic_roles.reader import PredicateInSentence
from elmokit.tasks.semantic_roles.recipes import SemanticRolesConfig, paper
from elmokit.tasks.semantic_roles.task import symbols

ANN = ["Ann", "told", "Bob", "to", "sing"]
SENTENCES = [
    PredicateInSentence(ANN, 1, ["B-ARG0", "B-V", "B-ARG2", "B-ARG1", "I-ARG1"]),
    PredicateInSentence(ANN, 4, ["O", "O", "B-ARG0", "O", "B-V"]),
    PredicateInSentence(["Sleep", "!"], 0, ["B-V", "O"]),
    PredicateInSentence(["the", "cat", "that", "sat", "slept"], 3, ["B-ARG0", "I-ARG0", "B-R-ARG0", "B-V", "O"]),
]
LABELS = symbols(SENTENCES)
WORDS = [token for example in SENTENCES for token in example.tokens]


@pytest.fixture
def parser(stand_in_inputs) -> SemanticRoleParser:
    torch.manual_seed(1)
    config = SemanticRolesConfig(flag_dim=4, hidden_dim=16, num_layers=3)
    made = SemanticRoleParser(config, inputs=stand_in_inputs(WORDS, input_dim=8, output_dim=3), labels=LABELS)
    nn.init.normal_(made.dense.weight)
    return made.eval()


def test_learns_four_propositions_by_heart_two_of_them_of_one_sentence(stand_in_inputs):
    torch.manual_seed(0)
    config = SemanticRolesConfig(flag_dim=8, hidden_dim=24, num_layers=4)
    parser = SemanticRoleParser(config, inputs=stand_in_inputs(WORDS), labels=LABELS)
    optimizer = torch.optim.Adam(parser.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        parser(SENTENCES).backward()
        optimizer.step()
    parser.eval()
    assert parser.predict(SENTENCES) == [example.tags for example in SENTENCES]
    assert parser(SENTENCES) < 0.5


def test_padding_and_the_others_of_a_batch_change_nothing(parser: SemanticRoleParser):
    together = parser.predict(SENTENCES)
    losses = [parser([example]) for example in SENTENCES]
    assert [parser.predict([example])[0] for example in SENTENCES] == together
    torch.testing.assert_close(parser(SENTENCES), torch.stack(losses).mean())


def test_the_loss_is_the_sum_over_the_tokens(parser: SemanticRoleParser):
    nn.init.zeros_(parser.dense.weight)  # every tag is as likely as any other
    torch.testing.assert_close(parser([SENTENCES[0]]), 5 * torch.tensor(float(len(LABELS))).log())
    torch.testing.assert_close(parser(SENTENCES), 17 / 4 * torch.tensor(float(len(LABELS))).log())


def test_the_predicate_decides(parser: SemanticRoleParser):
    first, second = SENTENCES[0], SENTENCES[1]
    asked = PredicateInSentence(ANN, second.predicate, first.tags)
    assert parser([asked]) != parser([first])


def test_without_a_predicate_nothing_is_found_and_nothing_learnt(parser: SemanticRoleParser):
    nothing = PredicateInSentence(ANN, None, ["B-ARG0", "O", "O", "O", "O"])
    assert parser.predict([nothing, SENTENCES[0]]) == [["O"] * 5, *parser.predict(SENTENCES[:1])]
    assert parser.predict([nothing]) == [["O"] * 5]
    assert parser.predict([]) == []
    with pytest.raises(ValueError, match="the predicate is token None; expected 0 to 4"):
        parser([nothing])


@given(seed=st.integers(0, 2**16), scale=st.sampled_from([0.1, 3.0, 100.0]))
def test_never_finds_illegal_tags(stand_in_inputs, seed: int, scale: float):
    config = SemanticRolesConfig(flag_dim=2, hidden_dim=4, num_layers=1)
    parser = SemanticRoleParser(config, inputs=stand_in_inputs(WORDS, input_dim=4), labels=LABELS).eval()
    torch.manual_seed(seed)
    for parameter in parser.parameters():
        nn.init.normal_(parameter, std=scale)
    for tags in parser.predict(SENTENCES):
        # Reading an I that continues nothing as a B, as spans_from_tags does, would change the tags.
        assert tags_from_spans(spans_from_tags(tags), num_tokens=len(tags), scheme="BIO") == tags


def test_refuses_tags_that_it_does_not_know_or_that_are_too_few(parser: SemanticRoleParser):
    with pytest.raises(ValueError, match=r"'Sleep' \.\.\. has the tag 'B-ARGM-TMP'; the labels are O, B-ARG0"):
        parser([PredicateInSentence(["Sleep", "!"], 0, ["B-V", "B-ARGM-TMP"])])
    with pytest.raises(ValueError, match=r"'Sleep' \.\.\. has 2 tokens but 0 tags; expected one for each"):
        parser([PredicateInSentence(["Sleep", "!"], 0, [])])
    with pytest.raises(ValueError, match="the predicate is token 2; expected 0 to 1"):
        parser.predict([PredicateInSentence(["Sleep", "!"], 2, [])])


def test_the_paper_s_recipe_has_the_published_sizes(stand_in_inputs):
    recipe = paper()
    inputs = stand_in_inputs(WORDS, input_dim=recipe.inputs.word_dim)
    parser = SemanticRoleParser(recipe.model, inputs=inputs, labels=LABELS)
    flags = 2 * 100
    first_layer, other_layers = 200 * 1800 + 300 * 1500 + 1800, 300 * 1800 + 300 * 1500 + 1800
    dense = 300 * len(LABELS) + len(LABELS)
    expected = flags + first_layer + 7 * other_layers + dense
    vectors = sum(parameter.numel() for parameter in inputs.parameters())
    assert sum(parameter.numel() for parameter in parser.parameters()) - vectors == expected
