from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str], Path]


@pytest.fixture(scope="session")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Writes a text into the same file again and again, and gives its path."""
    path = tmp_path_factory.mktemp("reader") / "data"

    def write_text(text: str) -> Path:
        path.write_bytes(text.encode())
        return path

    return write_text
