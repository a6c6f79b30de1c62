from __future__ import annotations

import pytest

from elmokit.system.warn import warn_caller


def test_a_warning_names_the_line_that_called_the_package():
    line = test_a_warning_names_the_line_that_called_the_package.__code__.co_firstlineno
    with pytest.warns(UserWarning, match="the text is short") as given:
        warn_caller("the text is short")
    assert (given[0].filename, given[0].lineno) == (__file__, line + 3)
