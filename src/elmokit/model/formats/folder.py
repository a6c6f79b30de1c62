"""Writing the folder of a model: folders and files are written atomically."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from elmokit.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from elmokit.text.vocabulary import Vocabulary


@contextmanager
def new_folder(path: Path) -> Generator[Path]:
    """A temporary folder next to `path`, renamed to `path` on success and removed on failure.

    Raises FileExistsError if `path` exists and is not an empty folder.
    """
    if not is_free(path):
        raise FileExistsError(f"{path} exists and is not an empty folder; choose another one or remove it")
    path = path.resolve()
    staging = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    staging.mkdir(parents=True)
    try:
        yield staging
        if path.exists():
            path.rmdir()
        os.replace(staging, path)
    except BaseException as error:
        shutil.rmtree(staging, ignore_errors=True)
        if isinstance(error, OSError) and error.filename is not None:
            error.filename = str(path)  # the user does not know the temporary name
        raise


def is_free(path: Path) -> bool:
    """Whether the path does not exist or is an empty folder."""
    return not os.path.lexists(path) or (path.is_dir() and not any(path.iterdir()))


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file, completely or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_vocabulary_file(path: Path, vocabulary: Vocabulary) -> None:
    """Write a vocabulary, completely or not at all."""
    with atomic_write(path) as temporary:
        vocabulary.write(temporary)
