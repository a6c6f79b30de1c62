"""What holds for the models of all tasks; what is peculiar to one is in its folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from elmokit.tasks.all_tasks import TASKS, find_task
from elmokit.tasks.entailment.reader import LABELS
from task_examples import EXAMPLES, LONG, TaskExamples, question

SLOW = {"coreference", "question-answering"}


@pytest.fixture(
    scope="module", params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in EXAMPLES]
)
def learnt(request: pytest.FixtureRequest, stand_in_inputs: Callable[..., Any]) -> tuple[TaskExamples, Any]:
    case = EXAMPLES[request.param]
    return case, case.learnt(stand_in_inputs(case.words(), output_dim=case.output_dim))


def test_learns_four_examples_by_heart(learnt: tuple[TaskExamples, Any]):
    case, model = learnt
    assert [*map(case.found, model.predict(case.examples))] == [*map(case.answer, case.examples)]
    assert model(case.examples).item() < 1


def test_the_company_of_a_batch_changes_nothing(learnt: tuple[TaskExamples, Any]):
    case, model = learnt
    together = [*map(case.found, model.predict(case.examples))]
    assert [case.found(model.predict([example])[0]) for example in case.examples] == together
    losses = torch.stack([model([example]) for example in case.examples])
    total = losses.sum() if case.task == "named-entities" else losses.mean()
    torch.testing.assert_close(model(case.examples), total, rtol=1e-4, atol=1e-6)


def test_predicts_without_looking_at_the_answers(learnt: tuple[TaskExamples, Any]):
    case, model = learnt
    made = model.predict(case.without_gold())
    assert made == model.predict(case.examples)
    if case.gold == "label":
        assert all(sum(each.probabilities.values()) == pytest.approx(1) for each in made)
        assert all(each.probabilities[each.label] == max(each.probabilities.values()) for each in made)


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        (
            "entailment",
            {"label": None},
            "the pair 'A' ..., 'An' ... has the label None; the labels are entailment, neu",
        ),
        ("named-entities", {"tags": ["U-FOOD"] * 7}, r"'Jane' \.\.\. has the tag 'U-FOOD'; the labels are O, B-LOC"),
        ("named-entities", {"tags": []}, r"'Jane' \.\.\. has 7 tokens but 0 tags"),
        ("question-answering", question("", LONG, None).answers, "has no answer that tokens of its passage cov"),
        (
            "semantic-roles",
            {"tags": ["B-ARGM-TMP"] * 5},
            r"'Ann' \.\.\. has the tag 'B-ARGM-TMP'; the labels are O, B-",
        ),
        ("semantic-roles", {"tags": []}, r"'Ann' \.\.\. has 5 tokens but 0 tags; expected one for each"),
        ("semantic-roles", {"predicate": 5}, "the predicate is token 5; expected 0 to 4"),
        ("sentiment", {"label": None}, r"'It' \.\.\. has the label None; the labels are negative, neutral"),
    ],
)
def test_examples_without_a_label_that_the_model_knows_are_refused(
    stand_in_inputs: Callable[..., Any], task: str, change: Any, message: str
):
    case = EXAMPLES[task]
    example = replace(case.examples[0], **(change if isinstance(change, dict) else {"answers": change}))
    with pytest.raises(ValueError, match=message):
        case.model(stand_in_inputs(case.words()))([example])


@pytest.mark.parametrize("name", TASKS)
def test_the_model_of_the_cpu_recipe_is_built_and_predicts(stand_in_inputs: Callable[..., Any], name: str):
    case = EXAMPLES[name]
    model = case.model(stand_in_inputs(case.words()), **vars(find_task(name).recipes["cpu"]().model))
    assert len(model.eval().predict(case.examples)) == 4


def lstm(input_dim: int, hidden_dim: int) -> int:
    """Parameters of both directions: gates, units, inputs and state and two biases."""
    return 2 * 4 * hidden_dim * (input_dim + hidden_dim + 2)


def gru(input_dim: int) -> int:
    return 2 * 3 * 90 * (input_dim + 90 + 2)


CONLL_TAGS = ["O", *(f"{prefix}-{kind}" for kind in ("LOC", "MISC", "ORG", "PER") for prefix in "BILU")]
SPAN = 400 + 400 + 20 + 450
SCORER = 150 * 150 + 150 + 150 + 1
PUBLISHED: dict[str, tuple[list[str], int, int, list[int]]] = {
    # symbols; what the inputs give (words, characters, ELMo) and what they give for the output; parameters of each part
    "coreference": (
        ["bc", "bn", "mz", "nw", "pt", "tc", "wb"],
        *(300 + 150, 0),
        # LSTM with coupled gates; heads and widths; scores of mentions and of pairs; features ("no genre" is one)
        [
            2 * (3 * 200 * (450 + 200) + 3 * 200 + 2 * 200),
            400 + 10 * 20,
            *(150 * SPAN + 150 + SCORER, 150 * (3 * SPAN + 60) + 150 + SCORER),
            (2 + 8 + 10) * 20,
        ],
    ),
    "entailment": (
        [*LABELS],
        *(300 + 1024, 1024),
        # encoder, projection of what is compared, inference, hidden layer, labels
        [lstm(1324, 300), 300 * (4 * (600 + 1024) + 1), lstm(300, 300), 300 * (2400 + 1), 3 * (300 + 1)],
    ),
    "named-entities": (
        CONLL_TAGS,
        *(50 + 128 + 1024, 0),
        [lstm(1202, 200), lstm(400, 100), 17 * (200 + 1), 17 * 17],  # both layers, tags, transitions
    ),
    "question-answering": (
        [],
        *(300 + 100 + 1024, 1024),
        # encoder; attention (trilinear, dense); self-attention (with the score of nothing); start, end and their scores
        [
            gru(1424),
            3 * (180 + 1024) + 180 * (4 * (180 + 1024) + 1),
            gru(180) + 3 * 180 + 1 + 180 * (3 * 180 + 1),
            *(gru(180), gru(360), 2 * 180),
        ],
    ),
    "semantic-roles": (
        ["O", "B-V", "I-V"],
        *(100, 0),
        # flags, the first and the other seven layers with highways, tags
        [2 * 100, 200 * 1800 + 300 * 1500 + 1800, 7 * (300 * 1800 + 300 * 1500 + 1800), 300 * 3 + 3],
    ),
    "sentiment": (
        [*"01234"],
        *(300 + 1024, 1024),
        # projection, encoders of words and of ELMo, integrator, pooling, maxout layers of four pieces
        [
            *(300 * (1324 + 1), lstm(300, 300), lstm(1024, 300), lstm(3 * (600 + 600), 300), 600),
            4 * (1200 * (2400 + 1) + 600 * (1200 + 1) + 5 * (600 + 1)),
        ],
    ),
}


@pytest.mark.parametrize("name", TASKS)
def test_the_paper_s_recipe_has_the_published_sizes(stand_in_inputs: Callable[..., Any], name: str):
    task = find_task(name)
    symbols, input_dim, output_dim, parts = PUBLISHED[name]
    inputs = stand_in_inputs(["a"], input_dim=input_dim, output_dim=output_dim)
    with torch.device("meta"):
        model: Any = task.build(task.recipes["paper"]().model, inputs, symbols)
    own = sum(value.numel() for name, value in model.named_parameters() if not name.startswith("inputs."))
    assert own == sum(parts)
