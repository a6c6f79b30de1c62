"""tests/ mirrors src/elmokit: each file has a test of its name, or stands in `mirror.py` with the test that runs it."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from mirror import TESTED_THROUGH, TESTS, is_behind_doors, own_tests, runners

SOURCE = TESTS.parent / "src" / "elmokit"
FILES = sorted(
    path.relative_to(SOURCE).as_posix()
    for path in SOURCE.rglob("*.py")
    if path.name not in ("__init__.py", "__main__.py")
)


@pytest.mark.parametrize("file", FILES)
def test_each_file_is_tested_by_a_test_of_its_name_or_through_another(file: str):
    assert runners(file)


@pytest.mark.parametrize("pattern", TESTED_THROUGH)
def test_each_exception_is_needed_and_names_a_test(pattern: str):
    test, _ = TESTED_THROUGH[pattern]
    assert (TESTS / test).exists()
    assert any(PurePosixPath(file).match(pattern) and not own_tests(file) for file in FILES)


def test_only_integrations_are_tested_behind_doors():
    assert all(file.startswith("integrations/") for file in FILES if is_behind_doors(file))
