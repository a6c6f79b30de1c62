"""A shape in a signature of `src` is a promise that the tests check while they run (`shape_checks.py`)."""

import pytest
import torch
from beartype.roar import BeartypeDoorHintViolation

from elmokit.model.bilm import BiLMOutput, BiLMState
from elmokit.tasks.sentiment.model import Maxout


def test_a_wrong_number_of_dimensions_type_or_length_is_refused():
    layer = Maxout(input_dim=3, output_dim=2, pool_size=2)
    assert layer(torch.zeros(5, 3)).shape == (5, 2)
    with pytest.raises(BeartypeDoorHintViolation, match=r"(?s)Maxout\.forward, inputs: .*3 dimensions"):
        layer(torch.zeros(1, 5, 3))
    state, layers = BiLMState(()), torch.zeros(3, 1, 2, 4)
    for mask in (torch.ones(1, 2), torch.ones(1, 5).bool()):  # another type, then another length
        with pytest.raises(BeartypeDoorHintViolation, match="BiLMOutput.__init__, mask: "):
            BiLMOutput(layers=layers, mask=mask, state=state)
