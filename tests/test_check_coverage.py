"""The bound on each file's coverage, which `make check` and `make test-doors` hold."""

from __future__ import annotations

from check_coverage import percentages, too_low


def test_files_below_the_bound_are_named_the_lowest_first():
    found = {"a.py": 100.0, "b.py": 84.9, "c.py": 20.0, "d.py": 85.0}
    assert too_low(found, at_least=85) == [" 20.0 %  c.py", " 84.9 %  b.py"]


def test_files_behind_doors_are_looked_at_by_the_tests_that_run_them():
    report: dict[str, object] = {
        "files": {
            "src/elmokit/integrations/spacy.py": {"summary": {"percent_covered": 90.0}},
            "src/elmokit/layers/tasks/recurrent.py": {"summary": {"percent_covered": 100.0}},
        }
    }
    assert percentages(report, doors=True) == {"src/elmokit/integrations/spacy.py": 90.0}
    assert percentages(report, doors=False) == {"src/elmokit/layers/tasks/recurrent.py": 100.0}
