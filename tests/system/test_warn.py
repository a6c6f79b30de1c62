from __future__ import annotations

import pytest
from torch import nn

from elmokit.system.warn import warn_caller


def test_a_warning_names_the_line_that_called_the_package():
    line = test_a_warning_names_the_line_that_called_the_package.__code__.co_firstlineno
    with pytest.warns(UserWarning, match="the text is short") as given:
        warn_caller("the text is short")
    assert (given[0].filename, given[0].lineno) == (__file__, line + 3)


def test_a_warning_of_a_module_names_the_line_that_called_the_module():
    module = nn.Module()
    module.forward = warn_caller
    line = test_a_warning_of_a_module_names_the_line_that_called_the_module.__code__.co_firstlineno
    with pytest.warns(UserWarning, match="the text is short") as given:
        module("the text is short")
    assert (given[0].filename, given[0].lineno) == (__file__, line + 5)
