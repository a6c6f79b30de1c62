"""Tests that hold for the models of all tasks. Tests of a single task's model are in the file of that task."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from elmokit.metrics.spans import spans_from_tags, tags_from_spans
from elmokit.tasks.entailment.task import LABELS
from elmokit.tasks.task import TASKS, find_task
from elmokit.tasks.task_model import glorot
from task_examples import EXAMPLES, TaskExamples

SLOW = {"coreference", "question-answering"}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXAMPLES]
)
def learnt(request: pytest.FixtureRequest, stand_in_inputs: Callable[..., Any]) -> tuple[TaskExamples, Any]:
    case = EXAMPLES[request.param]
    return case, case.learnt(stand_in_inputs(case.words(), output_dim=case.output_dim))


@pytest.mark.learnt
def test_learns_four_examples_by_heart(learnt: tuple[TaskExamples, Any]):
    case, model = learnt
    assert [*map(case.found, model.predict(case.examples))] == [*map(case.answer, case.examples)]
    assert model(case.examples).item() < 1


def test_the_company_of_a_batch_changes_nothing(learnt: tuple[TaskExamples, Any]):
    case, model = learnt
    together = [*map(case.found, model.predict(case.examples))]
    assert [case.found(model.predict([example])[0]) for example in case.examples] == together
    losses = torch.stack([model([example]) for example in case.examples])
    total = losses.sum() if case.task in ("named-entities", "tags") else losses.mean()
    torch.testing.assert_close(model(case.examples), total, rtol=1e-4, atol=1e-6)


def test_predicts_without_looking_at_the_answers(learnt: tuple[TaskExamples, Any]):
    case, model = learnt
    made = model.predict(case.without_gold())
    assert made == model.predict(case.examples)
    results = map(find_task(case.task).result, case.examples, made)
    assert all(repr(each).startswith(f"<{type(each).__name__} ") for each in results)
    if case.gold == "label":
        assert all(sum(each.probabilities.values()) == pytest.approx(1) for each in made)
        assert all(each.probabilities[each.label] == max(each.probabilities.values()) for each in made)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_for_the_output_is_read(stand_in_inputs: Callable[..., Any], name: str):
    case = EXAMPLES[name]
    model = case.model(stand_in_inputs(case.words(), output_dim=3)).eval()
    before = model(case.examples)
    with torch.no_grad():
        model.inputs.vectors.weight[:, model.inputs.input_dim :] *= 2
    assert model(case.examples) != before


@pytest.mark.parametrize(("name", "scheme"), [("named-entities", "BIOUL"), ("semantic-roles", "BIO")])
def test_tags_are_never_illegal(stand_in_inputs: Callable[..., Any], name: str, scheme: str):
    case = EXAMPLES[name]
    model = case.model(stand_in_inputs(case.words())).eval()
    for scale in (0.1, 2.0, 2.0, 100.0):
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=scale)
        for tags in model.predict(case.examples):  # spans_from_tags reads an illegal I as a B, which changes the tags
            assert tags_from_spans(spans_from_tags(tags), num_tokens=len(tags), scheme=scheme) == tags


def test_weights_are_uniform_in_the_range_of_glorot_and_bengio_and_biases_zero():
    torch.manual_seed(0)
    layer = glorot(nn.Linear(200, 100))
    bound = (6 / (200 + 100)) ** 0.5
    assert layer.weight.abs().max().item() == pytest.approx(bound, rel=1e-3)
    assert layer.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.02)
    assert not layer.bias.any() and glorot(nn.Linear(3, 2, bias=False)).bias is None


CONLL_TAGS = ["O", *(f"{prefix}-{kind}" for kind in ("LOC", "MISC", "ORG", "PER") for prefix in "BILU")]
# Symbols; widths of the inputs (words, characters, ELMo) and of the vectors for the output (ELMo); number of
# parameters, computed from the sizes in the papers.
PUBLISHED: dict[str, tuple[list[str], int, int, int]] = {
    "coreference": (["bc", "bn", "mz", "nw", "pt", "tc", "wb"], 300 + 150, 0, 1_599_902),
    "entailment": ([*LABELS], 300 + 1024, 1024, 8_017_503),
    "named-entities": (CONLL_TAGS, 50 + 128 + 1024, 0, 2_651_706),
    "question-answering": ([], 300 + 100 + 1024, 1024, 2_325_433),
    "semantic-roles": (["O", "B-V", "I-V"], 100, 0, 7_755_503),
    "sentiment": ([*"01234"], 300 + 1024, 1024, 28_809_320),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_paper_s_recipe_has_the_published_sizes(stand_in_inputs: Callable[..., Any], name: str):
    task = find_task(name)
    symbols, input_dim, output_dim, num_parameters = PUBLISHED[name]
    inputs = stand_in_inputs(["a"], input_dim=input_dim, output_dim=output_dim)
    with torch.device("meta"):
        model: Any = task.build(task.recipes["paper"]().model, inputs, symbols)
    own = sum(value.numel() for name, value in model.named_parameters() if not name.startswith("inputs."))
    assert own == num_parameters
