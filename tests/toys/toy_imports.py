"""Models of other formats are imported in this process, and into a cache that goes with the tests.

A child process takes a second to start; `in_a_child` is for the tests of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elmokit.formats.importers import __main__ as importer
from elmokit.formats.importers import child

READ_IN_A_CHILD = child.run


def read_here(path: Path, weights: Path | None, target: Path | None) -> child.Report:
    return importer.read(path, weights, target=target, size=1 << 30)


@pytest.fixture(scope="session", autouse=True)
def import_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ELMOKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(child, "run", read_here)
        yield


@pytest.fixture
def in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "run", READ_IN_A_CHILD)
