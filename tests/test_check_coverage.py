"""The bound on each file's coverage, which `make check` and `make test-doors` hold."""

from __future__ import annotations

import pytest

from check_coverage import percentages, too_low
from mirror import TESTED_THROUGH


def test_files_below_the_bound_are_named_the_lowest_first():
    found = {"a.py": 100.0, "b.py": 84.9, "c.py": 20.0, "d.py": 85.0}
    assert too_low(found, at_least=85) == [" 20.0 %  c.py", " 84.9 %  b.py"]


def test_files_behind_doors_are_looked_at_by_the_tests_that_run_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(TESTED_THROUGH, "integrations/far.py", ("doors/test_environment.py", "it is an example"))
    report: dict[str, object] = {
        "files": {
            "src/elmokit/integrations/far.py": {"summary": {"percent_covered": 90.0}},
            "src/elmokit/layers/encoder.py": {"summary": {"percent_covered": 100.0}},
        }
    }
    assert percentages(report, doors=True) == {"src/elmokit/integrations/far.py": 90.0}
    assert percentages(report, doors=False) == {"src/elmokit/layers/encoder.py": 100.0}
