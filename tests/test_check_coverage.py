"""The bound on each file's coverage, which `make check` holds."""

from __future__ import annotations

from check_coverage import too_low


def test_files_below_the_bound_are_named_the_lowest_first():
    percentages = {"a.py": 100.0, "b.py": 84.9, "c.py": 20.0, "d.py": 85.0}
    report: dict[str, object] = {
        "files": {name: {"summary": {"percent_covered": percent}} for name, percent in percentages.items()}
    }
    assert too_low(report, at_least=85) == [" 20.0 %  c.py", " 84.9 %  b.py"]
