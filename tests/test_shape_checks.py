"""A shape in a signature of `src` is a promise that the tests check while they run (`shape_checks.py`)."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
import torch
from beartype.roar import BeartypeDoorHintViolation

import elmokit
from elmokit.layers.scalar_mix import ScalarMix
from elmokit.layers.tasks.dense import Maxout
from elmokit.model.bilm import BiLMOutput, BiLMState
from shape_checks import has_shape

SOURCE = Path(elmokit.__file__).parent
WITH_SHAPES = [path for path in sorted(SOURCE.rglob("*.py")) if "from jaxtyping import" in path.read_text("utf-8")]
STATE = BiLMState((), ())


def test_a_wrong_number_of_dimensions_is_refused():
    layer = Maxout(input_dim=3, output_dim=2, pool_size=2)
    assert layer(torch.zeros(5, 3)).shape == (5, 2)
    with pytest.raises(BeartypeDoorHintViolation, match=r"(?s)Maxout\.forward, inputs: .*3 dimensions"):
        layer(torch.zeros(1, 5, 3))


def test_a_wrong_type_of_number_is_refused():
    with pytest.raises(BeartypeDoorHintViolation, match="mask: "):
        BiLMOutput(layers=torch.zeros(3, 1, 2, 4), mask=torch.ones(1, 2), state=STATE)


def test_one_letter_has_one_length():
    assert BiLMOutput(layers=torch.zeros(3, 1, 2, 4), mask=torch.ones(1, 2).bool(), state=STATE)
    with pytest.raises(BeartypeDoorHintViolation, match="BiLMOutput.__init__, mask: "):
        BiLMOutput(layers=torch.zeros(3, 1, 2, 4), mask=torch.ones(1, 5).bool(), state=STATE)


def test_what_a_function_refuses_itself_is_refused_in_its_own_words():
    with pytest.raises(ValueError, match="scalar mix over 3 layers was given 2"):
        ScalarMix(num_layers=3)(torch.zeros(2, 1, 1, 4))


@pytest.mark.parametrize("path", WITH_SHAPES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_every_shape_can_be_read(path: Path):
    try:
        module = importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    except ValueError as error:
        if "pip install" not in str(error):
            raise
        pytest.skip(str(error))
    shapes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if has_shape(node, itself=True)]
    assert shapes
    for shape in shapes:
        eval(compile(ast.Expression(shape), path, "eval"), vars(module))
